"""Passes that prune and measure zero blocks of maps and leave them out of transfers (paper 003)."""
