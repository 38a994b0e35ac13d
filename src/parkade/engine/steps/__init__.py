"""Steps in time: explicit, implicit, and with noise."""
