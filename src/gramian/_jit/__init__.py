"""The compiled loops (numba), imported only when called; one file per topic."""
