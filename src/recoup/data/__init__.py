"""What comes in: for now, the example that recoup carries."""

from recoup.data.example import Example, load_example

__all__ = ["Example", "load_example"]
