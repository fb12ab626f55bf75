"""Offsets of buffers, on and off the chip."""
