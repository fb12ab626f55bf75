"""Spilling: a pass that moves feature maps off chip, and the analysis that it needs."""
