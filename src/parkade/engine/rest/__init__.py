"""Tokens that rest on leaders: who may, how far they are from them, and when they wake."""
