"""Decides which feature maps leave the chip."""
