"""Runs that are proved: certificates of merges, and what checks them."""
