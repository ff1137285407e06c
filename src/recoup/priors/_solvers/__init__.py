"""The numerical parts that prior estimators share."""
