"""Files of weights; each format names its tensors and settings as Hugging Face does."""
