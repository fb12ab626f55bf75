"""Tiles of a layer for a small on-chip memory: what they cost, which are best. No IR in here."""
