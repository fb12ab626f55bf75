"""Pictures: the memory map of the SRAM, and zero blocks over the input."""
