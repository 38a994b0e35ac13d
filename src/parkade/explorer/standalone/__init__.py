"""Pages that need no server: one file, or a folder with engines in WebAssembly."""
