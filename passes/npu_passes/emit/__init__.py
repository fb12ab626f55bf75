"""Targets: they print modules as C, or as microcode of the PL-330."""
