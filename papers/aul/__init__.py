"""AUL is a better optimization metric in PU learning (2020): repeated."""
