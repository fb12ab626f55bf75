"""Passes from layers on buffers to loops."""
