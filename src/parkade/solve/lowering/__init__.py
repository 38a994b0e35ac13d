"""Models in the form that engines need, in a frame of their own."""
