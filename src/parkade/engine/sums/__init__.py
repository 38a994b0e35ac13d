"""Attention sums: directly over all pairs, or in linear time by harmonic functions."""
