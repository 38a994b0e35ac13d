"""Simulations and formulas that several claims share."""
