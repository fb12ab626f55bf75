"""The contracting part of FlowNet-S at 384x512, and the machine of paper 004."""

from npu_passes.tiling.cost_model import DmaCosts
from npu_passes.tiling.layer_shape import ConvShape, WindowAxis

OCM_BYTES = 256 * 1024
DMA = DmaCosts(5623, 1, 1)
"""C/t and p/t at which the cost lines below were computed; the paper has no values."""


def square(
    name: str, rows: int, columns: int, k: int, z: int, kernel: int, stride: int
) -> ConvShape:
    pad = kernel // 2
    window = (kernel, stride, 1, pad, pad)
    return ConvShape(name, WindowAxis(rows, *window), WindowAxis(columns, *window), k, z)


LAYERS = (
    square("conv1", 384, 512, 6, 64, 7, 2),
    square("conv2", 192, 256, 64, 128, 5, 2),
    square("conv3", 96, 128, 128, 256, 5, 2),
    square("conv3_1", 48, 64, 256, 256, 3, 1),
    square("conv4", 48, 64, 256, 512, 3, 2),
    square("conv4_1", 24, 32, 512, 512, 3, 1),
    square("conv5", 24, 32, 512, 512, 3, 2),
    square("conv5_1", 12, 16, 512, 512, 3, 1),
    square("conv6", 12, 16, 512, 1024, 3, 2),
    square("conv6_1", 6, 8, 1024, 1024, 3, 1),
)
