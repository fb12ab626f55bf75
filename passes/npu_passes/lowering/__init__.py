"""From layers on buffers to loops."""
