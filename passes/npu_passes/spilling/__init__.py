"""Which feature maps leave the chip: the pass and what it reads."""
