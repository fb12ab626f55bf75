"""Passes on microcode."""
