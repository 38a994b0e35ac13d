"""What several claims share."""
