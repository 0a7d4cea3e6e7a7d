"""What the check opens: a written export in its own engine, with ``count``, ``width``, ``dtype`` and ``search``."""
