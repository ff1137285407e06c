"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no reason for a property to fail.
current = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("patient", parent=current, deadline=None)
settings.load_profile("patient")
