"""Helpers of all tools: errors, files, arrays, progress."""
