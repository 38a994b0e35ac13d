"""Steppers that use the naive velocity of any model, in NumPy."""
