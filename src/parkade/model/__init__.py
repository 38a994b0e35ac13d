"""Models that move tokens, and the sphere they move on. Imports `base` only."""
