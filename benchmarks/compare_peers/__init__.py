"""What `benchmarks.compare` runs in each peer's own environment: one file for each package."""
