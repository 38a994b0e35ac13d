"""What a path shows: clusters, merge trees, centres, endings. Imports `runs` and below."""
