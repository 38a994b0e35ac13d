"""What heads write and read, as tables, pages and pictures."""
