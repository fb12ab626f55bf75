"""Errors, files, arrays and progress: what every tool uses."""
