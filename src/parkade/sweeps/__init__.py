"""Ensembles over grids of parameters: what to run, who runs it, and where it is kept."""
