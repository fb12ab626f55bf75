"""Passes on the graph of layers, on tensors."""
