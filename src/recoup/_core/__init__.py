"""What every room relies on: checks, files, random streams, results, the registry."""
