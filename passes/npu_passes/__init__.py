"""What is done to the IR: one pass, one file; mathematics in plain modules beside the passes."""
