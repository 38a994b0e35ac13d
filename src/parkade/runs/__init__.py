"""Tokens over time, and the files they are kept in. Imports `model`, `engine` and `base`."""
