"""Jain 2009, chapter 7: rank minimization and low-rank kernels."""
