"""What transformers are made of: heads, an MLP, masks, norms, positions and noise."""
