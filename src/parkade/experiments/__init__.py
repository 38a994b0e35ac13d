"""Experiments: the claims and figures of papers, tested and computed again.

`experiment` says what an experiment is and runs it. `claims` and `figures` hold one file for
each and a registry; `verify` and `reproduce` run what is chosen from these.
"""
