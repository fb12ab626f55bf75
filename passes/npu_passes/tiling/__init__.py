"""Staging of layers for a small on-chip memory: tiles are chosen, loop nests are built."""
