"""What the site needs beside the extensions of Sphinx."""
