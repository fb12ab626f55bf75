"""What runs while a transfer runs: double buffering."""
