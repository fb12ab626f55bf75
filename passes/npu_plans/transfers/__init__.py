"""Splits transfers into runs and bursts, and finds their shortest microcode."""
