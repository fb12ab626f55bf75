"""Which of several memories each buffer lies in: plain data in, a memory for each buffer out."""
