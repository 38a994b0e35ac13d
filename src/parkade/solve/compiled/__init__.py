"""Steppers with compiled engines."""
