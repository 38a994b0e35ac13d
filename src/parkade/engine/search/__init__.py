"""Which tokens are near which, and which leader each one joins."""
