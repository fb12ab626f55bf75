"""Targets: what leaves the compiler."""
