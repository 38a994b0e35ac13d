"""Claims of our own, not of a paper."""
