"""Claims on trained models."""
