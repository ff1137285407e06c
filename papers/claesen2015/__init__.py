"""Assessing binary classifiers using only positive and unlabeled data (2015): repeated."""
