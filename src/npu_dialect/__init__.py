"""What can be said: the dialects, their machines, and what each op means."""
