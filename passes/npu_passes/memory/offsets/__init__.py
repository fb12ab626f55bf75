"""The offset problem as plain data, one strategy a file; no IR in here."""
