"""What a user can choose: settings, their limits, their formula, and links."""
