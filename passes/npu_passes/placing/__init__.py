"""Passes that assign offsets to buffers, on and off the chip."""
