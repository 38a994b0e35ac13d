"""Models in the form that engines need: arrays of numbers, in a suitable frame."""
