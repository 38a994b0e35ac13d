"""Simulate a model from a start: plan, lower, integrate, record. Imports `runs` and below."""
