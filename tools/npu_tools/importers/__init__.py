"""From model files and microcode to modules."""
