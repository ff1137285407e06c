"""PU-Bench 2026: eighteen learners, eight datasets; its findings judged from our own runs."""
