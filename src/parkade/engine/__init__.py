"""Everything compiled. Nothing above this package knows about Numba. It imports `base` only.

Import its modules one by one: some of them (`integrator`, `series`, `system`, `tableau`) load
without Numba. `methods` has the integrators, `velocity` the velocities.
"""
