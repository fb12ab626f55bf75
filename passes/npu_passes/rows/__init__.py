"""Chains of layers that run row by row: chosen, and expanded into loops over rows."""
