"""The flow of plain attention linearised, and linear systems in its Jacobian."""
