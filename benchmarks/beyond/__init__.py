"""Points beyond one machine's memory: blocks and shards on a cluster of processes."""
