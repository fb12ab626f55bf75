"""Decides memory offsets, tiles, transfers and kernels. Numbers in, numbers out; no xDSL."""
