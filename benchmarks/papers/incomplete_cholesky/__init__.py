"""Teixeira, Tomé and Lang (2008): features from low-rank approximations of the kernel matrix."""
