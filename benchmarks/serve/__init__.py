"""A space that learns from clicks: simulated people against rivals, and latency over loopback."""
