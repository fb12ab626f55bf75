"""Graphs of layers, branch order, policies and traffic of modules (paper 001)."""
