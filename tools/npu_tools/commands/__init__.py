"""What people start: one file a command."""
