"""The bits that zero blocks cost and save (paper 003)."""
