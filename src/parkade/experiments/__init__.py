"""The paper put to the test: its claims and its figures. Imports all but `explorer` and `cli`."""
