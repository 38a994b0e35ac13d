"""The velocity of any transformer, and its linearisation."""
