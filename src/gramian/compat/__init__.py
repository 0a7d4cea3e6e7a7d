"""Names and habits of other packages, thin over ours."""
