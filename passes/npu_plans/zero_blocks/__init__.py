"""What zero blocks cost and save (paper 003)."""
