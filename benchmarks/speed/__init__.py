"""CPU seconds on one thread, medians, and ratios against peers measured in the same run."""
