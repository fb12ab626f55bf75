"""Which layers run row by row."""
