"""Ops of other dialects on tensors become layers: `tosa`, `linalg`."""
