"""The claims: a file for each, and `registry` with all of them.

A file defines a `Claim` and the functions that measure and draw it. To add a claim, add its
file and name it in the registry.
"""
