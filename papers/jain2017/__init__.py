"""Recovering true classifier performance in positive-unlabeled learning (2017): repeated."""
