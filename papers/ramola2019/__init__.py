"""Estimating classification accuracy in positive-unlabeled learning (2019): repeated."""
