"""Tokens over time, and their files. Imports `model`, `engine` and `base`."""
