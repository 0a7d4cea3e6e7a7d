"""Chapter 8 of Jain 2009: disparate clusterings."""
