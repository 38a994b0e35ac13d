"""Analysis of paths: clusters, merge trees, centres, endings. Imports `runs` and below."""
