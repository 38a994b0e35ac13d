"""From a model and a start to a run: plan, lower, integrate, record. Imports `runs` and below."""
