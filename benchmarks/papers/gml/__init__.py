"""Jain (2009), chapter 6: geometry-aware kernel learning."""
