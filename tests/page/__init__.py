"""The explorer's page, driven in a real Chromium."""
