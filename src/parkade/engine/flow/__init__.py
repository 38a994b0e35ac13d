"""Velocities of whole systems and their linearisation, by the sums that a run has chosen."""
