"""Trained transformers: read their weights, run them, measure their tokens."""
