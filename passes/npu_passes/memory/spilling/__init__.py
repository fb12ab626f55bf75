"""Which maps leave the chip: the decision as plain data, and how it is read off the IR."""
