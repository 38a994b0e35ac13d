"""How a run is computed: the kernel, the method, the sums, and how long it may take."""
