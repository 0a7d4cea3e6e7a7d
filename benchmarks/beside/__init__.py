"""What a sidecar costs a search, and what it gains, on engines that are installed."""
