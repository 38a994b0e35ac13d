"""Architectures; each maps the tensors of its files to the canonical form."""
