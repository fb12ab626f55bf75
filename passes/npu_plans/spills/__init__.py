"""Which feature maps leave the chip."""
