"""Register blocks, row plans and packing orders of convolution kernels."""
