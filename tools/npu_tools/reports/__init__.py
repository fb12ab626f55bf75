"""What was decided, as data and tables."""
