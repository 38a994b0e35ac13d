"""The figures and tables: a file for each, and `registry` with all of them.

A file defines an `Exhibit` and the functions that measure and draw it. To add a figure, add its
file and name it in the registry.
"""
