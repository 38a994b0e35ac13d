"""The server of the explorer."""
