"""What everything else stands on: errors, checks, files, progress. Imports nothing of parkade."""
