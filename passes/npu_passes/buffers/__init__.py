"""From tensors to buffers: bufferization, layouts, concatenation in place, weights, moves."""
