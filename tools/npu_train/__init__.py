"""Trains networks whose feature maps have many zero blocks (paper 003, Zebra).

It works on PyTorch networks, before there is any IR. Training decides which blocks become zero. The
result is an ONNX file, from which npu-compile imports `npu.prune_zero_blocks`. It needs the extra
`train`.
"""
