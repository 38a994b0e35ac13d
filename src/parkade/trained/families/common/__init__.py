"""What architectures share: settings and tensors with checks, RoPE, and the form of a family."""
