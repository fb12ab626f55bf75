"""Passes that generate and check microcode of the PL-330 DMA controller."""
