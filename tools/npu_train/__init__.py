"""Training of networks whose feature maps have many zero blocks (paper 003, Zebra).

Level: PyTorch, before there is any IR. What is decided here is which blocks will be zero; what
leaves is an ONNX file in which npu-compile finds `npu.prune_zero_blocks`. Needs the extra `train`.
"""
