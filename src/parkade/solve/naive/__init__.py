"""Steppers with the naive velocity of any model, in NumPy."""
