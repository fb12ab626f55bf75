"""What is best: plans of memory, tiles, transfers and kernels. Numbers in, numbers out; no xDSL."""
