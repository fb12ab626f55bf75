"""Microcode of the PL-330 as bytes and as assembly."""
