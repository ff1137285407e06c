"""The page of weeks: how good a classifier was in each, and what has changed."""
