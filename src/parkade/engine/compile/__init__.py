"""How functions are compiled, and how their machine code is stored and loaded."""
