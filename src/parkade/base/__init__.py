"""Shared foundations: errors, checks, files, progress. Imports nothing else from parkade."""
