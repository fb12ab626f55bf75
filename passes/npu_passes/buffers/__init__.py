"""Passes from tensors to buffers: bufferization, layouts, concatenation, weights, moved maps."""
