"""The contracting part of FlowNet-S at 384x512, and the machine of paper 004."""

from __future__ import annotations

from itertools import product

import numpy as np

from npu_plans.tiles.cost_model import Conventions, DmaCosts
from npu_plans.tiles.layer_shape import ConvShape, WindowAxis
from npu_plans.tiles.tile_search import SearchOptions

OCM_BYTES = 256 * 1024
DMA = DmaCosts(5623, 1, 1)
"""C/t and p/t for all costs in the tests; the paper gives no values."""


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

BY_ROWS = Conventions(merge_runs=False)
"""An address jump for every row of every map and every output channel of the weights, as in (2) to
(4): the conventions of the cost column. Merged runs cost less; the bytes are the same."""

FREEDOMS = (
    SearchOptions(
        "physical", True, "paper", "double-buffered", "bytes", Conventions(True, *[False] * 3)
    ),
    SearchOptions(
        "physical", True, "paper", "double-buffered", "bytes", Conventions(True, True, False, False)
    ),
    SearchOptions("physical", True, "paper", "double-buffered", "bytes", BY_ROWS),
    SearchOptions("physical", True, "any", "double-buffered", "bytes", BY_ROWS),
    SearchOptions("physical", False, "any", "double-buffered", "bytes", BY_ROWS),
    SearchOptions("physical", False, "any", "single", "bytes", BY_ROWS),
)
"""Each line adds one freedom; the first line is the paper's loop order and constraint."""

USAGE = (88, 98, 98, 86, 85, 88, 76, 86, 90, 91)
"""Table 1 of paper 004, the row of the optimum: percent of the on-chip memory, by layer."""


def usage_with_stored_halo(layer: ConvShape) -> int:
    """Percent of the on-chip memory that the best tile fills, in the model that fits the paper.

    In it, input tiles have K-1 more rows and columns, and T_out counts once.
    """
    extents = (layer.rows.extent, layer.columns.extent, layer.channels_in, layer.channels_out)
    divisors = [[d for d in range(1, extent + 1) if extent % d == 0] for extent in extents]
    s, t, k, z = np.array(list(product(*divisors)), dtype=np.int64).T
    kernel, stride = layer.rows.kernel, layer.rows.stride
    inputs = (s + kernel - 1) * (t + kernel - 1) * k
    weights = k * z * kernel**2 + z
    elements = inputs + s * t * z / stride**2 + weights
    t_in = DMA.start + (s + kernel - 1) * k + inputs
    t_out = DMA.start + s * z / stride + s * t * z / stride**2
    t_wb = DMA.start + z + 1 + weights
    cost = layer.input_elements / (s * t * k) * (t_in + layer.channels_out / z * (t_out + t_wb))
    best = np.argmin(np.where(elements <= OCM_BYTES // 8, cost, np.inf))
    return int(100 * elements[best] // (OCM_BYTES // 8))


def bytes_with_stored_halo(layer: ConvShape) -> tuple[int, list[int]]:
    """The least bytes that move, and those of each tile that fills 80 % of the memory or more.

    Input tiles have K-1 more rows and columns, at the border too; the loops are listing 1.1.
    """
    stride, kernel = layer.rows.stride, layer.rows.kernel
    extents = (layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
    divisors = [[d for d in range(1, extent + 1) if extent % d == 0] for extent in extents]
    rows, columns, k, z = np.array(list(product(*divisors)), dtype=np.int64).T
    inputs = (rows * stride + kernel - 1) * (columns * stride + kernel - 1) * k
    outputs, weights = rows * columns * z, k * z * kernel**2 + z
    d_in = extents[0] * extents[1] * extents[2] // (rows * columns * k)
    moved = 4 * d_in * (inputs + extents[3] // z * (2 * outputs + weights))
    footprint = 2 * 4 * (inputs + outputs + weights)
    fits = footprint <= OCM_BYTES
    return int(moved[fits].min()), moved[fits & (footprint >= 0.8 * OCM_BYTES)].tolist()
