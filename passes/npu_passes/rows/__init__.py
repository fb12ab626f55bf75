"""Passes that choose layers to run row by row, and put them into `npu.rows`."""
