"""Shared foundations: errors, checks, files, progress, merge trees as data.

Imports nothing else from parkade.
"""
