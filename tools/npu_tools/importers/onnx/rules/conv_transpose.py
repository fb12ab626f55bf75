"""The rule for ConvTranspose, and what it shares with quantised integers.

Everything that says how large the output is (`output_padding`, `output_shape`, `auto_pad`) becomes
pads. Negative pads add rows and columns to the output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import ConvTranspose2dOp
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.conv import convolved, together
from npu_tools.importers.onnx.rules.frame_maps import Convolved
from npu_tools.importers.onnx.rules.products import Products
from npu_tools.importers.onnx.rules.window import Window, per_axis, spatial_rank
from npu_tools.importers.onnx.tensors import Array


def conv_transpose(node: Node, graph: Builder) -> Value:
    """ConvTranspose over one, two or three spatial axes; constant weights [C, O / groups, ...]."""
    source = graph.map(node, 0)
    weight, bias = graph.constant(node, 1), graph.optional(node, 2)
    taps = Constant(weight.name, filters_first(node, graph.weight(node, 1), source))
    products = Products(ConvTranspose2dOp, taps, bias, node.int("group", 1))
    return together(node, graph, transposed(node, graph, source, products))


def filters_first(node: Node, weight: Array, source: SSAValue) -> Array:
    """A weight [C, O / groups, ...] as [O, C / groups, ...].

    Raises: NodeError if it does not fit the map [N, C, ...].
    """
    rank, shape, groups = spatial_rank(source), weight.shape, node.int("group", 1)
    channels = shape_of(source)[1]
    if len(shape) != rank + 2 or shape[0] != channels or groups < 1 or channels % groups:
        raise NodeError(
            f"a weight of shape {list(shape)} with group {groups} for an input of shape "
            f"{list(shape_of(source))}; expected [{channels}, O / group, ...] with {rank + 2} "
            "dimensions and a group that divides the channels"
        )
    apart = weight.reshape(groups, channels // groups, *shape[1:]).swapaxes(1, 2)
    return np.ascontiguousarray(apart.reshape(-1, channels // groups, *shape[2:]))


def transposed(node: Node, graph: Builder, source: SSAValue, products: Products) -> Convolved:
    """Add a transposed convolution of a map [N, C, ...].

    Raises: NodeError if `kernel_shape`, strides, dilations, pads or sizes do not fit the map.
    """
    found = window(node, shape_of(source)[2:], products.weight.array.shape[2:])
    return convolved(graph, source, products, found)


def window(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a node over a map; its pads take away from the output.

    Raises: NodeError if a list has a wrong length, or if a value is out of range.
    """
    rank = len(extents)
    given = node.ints("kernel_shape")
    if given is not None and given != list(kernel):
        raise NodeError(f"kernel_shape {given}, but a kernel of shape {list(kernel)}")
    strides = per_axis(node, "strides", rank, 1)
    dilations = per_axis(node, "dilations", rank, 1)
    added = per_axis(node, "output_padding", rank, 0)
    for what, values, least in (
        ("kernel", kernel, 1),
        ("strides", strides, 1),
        ("dilations", dilations, 1),
        ("output_padding", added, 0),
    ):
        if any(value < least for value in values):
            raise NodeError(f"{what} {list(values)}; expected values of at least {least}")
    if any(n >= max(ends) for n, *ends in zip(added, strides, dilations, strict=True)):
        raise NodeError(
            f"output_padding {added}; expected less than strides {strides} or dilations {dilations}"
        )
    whole = [
        (size - 1) * stride + (taps - 1) * step + 1 + more
        for size, stride, taps, step, more in zip(
            extents, strides, kernel, dilations, added, strict=True
        )
    ]
    before, after = pads_of(node, extents, strides, whole)
    after = [pad - more for pad, more in zip(after, added, strict=True)]
    return Window(*map(tuple, (kernel, strides, before, after, dilations)))


def pads_of(
    node: Node, extents: Sequence[int], strides: Sequence[int], whole: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The pads before and after each axis, from `pads`, `output_shape` or `auto_pad`.

    `extents` are those of the map, `whole` those of the output without pads.

    Raises: NodeError for an unknown mode, or pads or sizes that are out of range.
    """
    rank, mode = len(extents), node.string("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"auto_pad {mode}; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    same = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    if node.ints("output_shape") is not None:
        wanted = per_axis(node, "output_shape", rank, 1)
        most = [size + stride - 1 for size, stride in zip(whole, strides, strict=True)]
        if any(not 1 <= size <= limit for size, limit in zip(wanted, most, strict=True)):
            raise NodeError(f"output_shape {wanted}; expected at least 1, at most {most}")
    elif mode.startswith("SAME"):
        if any(node.ints("output_padding") or ()):
            raise NodeError(
                f"auto_pad {mode} with output_padding, where runtimes disagree; expected pads"
            )
        wanted = [min(size, most) for size, most in zip(same, whole, strict=True)]
    else:
        pads = [0] * (2 * rank) if mode == "VALID" else per_axis(node, "pads", 2 * rank, 0)
        if any(pad < 0 for pad in pads):
            raise NodeError(f"pads {pads}; expected values of at least 0")
        return pads[:rank], pads[rank:]
    totals = [size - less for size, less in zip(whole, wanted, strict=True)]
    larger = 0 if mode == "SAME_UPPER" else 1
    before = [(max(0, total) + larger) // 2 for total in totals]
    return before, [total - first for total, first in zip(totals, before, strict=True)]
