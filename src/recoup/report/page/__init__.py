"""The page about one evaluation or comparison."""
