"""Modules of several branches: detected, reordered, planned (paper 001)."""
