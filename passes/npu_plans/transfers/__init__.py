"""Transfers as runs and bursts, and their shortest microcode."""
