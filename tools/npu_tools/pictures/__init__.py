"""What was decided, as pictures."""
