"""Commands that list the heads of a trained model."""
