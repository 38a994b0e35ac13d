"""Steppers that use the compiled engines."""
