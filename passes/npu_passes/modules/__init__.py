"""Modules of several branches: passes that detect, reorder, plan and inline them (paper 001)."""
