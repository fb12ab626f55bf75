"""Microcode of the PL-330: the passes that make it and check it."""
