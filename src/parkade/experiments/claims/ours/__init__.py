"""Our own claims."""
