"""Ensembles over grids of parameters: the recipe, the workers and the store.

Imports `solve`, `analysis` and the folders below them.
"""
