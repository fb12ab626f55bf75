"""From tensors to buffers, and from buffers to offsets."""
