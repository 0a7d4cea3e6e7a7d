"""Epstein and Betke: kernel semi-least squares for sparse distance approximation."""
