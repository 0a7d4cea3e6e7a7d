"""Queries and their documents: what pairs teach, beside the adapters that everybody writes."""
