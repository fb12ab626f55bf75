"""Analyses: they read lifetimes, accesses, views and affine indices, and never change the IR."""
