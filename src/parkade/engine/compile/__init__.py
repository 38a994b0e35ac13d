"""How machine code is made, kept and loaded."""
