"""Rules for Pad: zeros are kept apart until a layer takes them into its own pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.runs import Run
from npu_tools.importers.onnx.builder import STORED, Builder, Value, element_name
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.moved import moved
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded, padded_runs, unpadded
from npu_tools.importers.onnx.quantized import Scaled
from npu_tools.importers.onnx.rules.picked import expect_length, listed
from npu_tools.importers.onnx.rules.shape import axis_of
from npu_tools.importers.onnx.surrounded import Surrounded, settled

CONSTANT = "constant"
MODES = (CONSTANT, "edge", "reflect", "wrap")
"""What the pads hold: one number, or elements of the map."""


def pad(node: Node, graph: Builder) -> Value:
    """Pad. What a convolution may take into its own pads is kept apart (see `padding.py`).

    That is zeros around spatial axes of real numbers, and any integer around those of quantised
    maps. If all pads are zero wide, the result is the operand.
    """
    padded = graph.padded(node, 0)
    before, after = all_pads(node, graph, len(shape_of(padded.source)))
    if not any((*before, *after)):
        return padded if padded.label else padded.source
    element = map_type(padded.source).get_element_type()
    fill = fill_of(node, graph, element)
    fits = padded.is_integer or (element == f32 and fill == 0)
    if not (mode_of(node) == CONSTANT and fits and is_spatial(before, after)):
        source = graph.padded_map(padded) if padded.label else padded.source
        return surrounded(node, graph, source, fill)
    if padded.label and fill != padded.fill:
        padded = unpadded(graph.padded_map(padded))
    return Padded(
        padded.source,
        tuple(a + b for a, b in zip(padded.before, before[2:], strict=True)),
        tuple(a + b for a, b in zip(padded.after, after[2:], strict=True)),
        node.label,
        int(fill),
    )


def center_crop_pad(node: Node, graph: Builder) -> Value:
    """CenterCropPad: elements are cut off, or zeros added, at both ends of some axes."""
    source, wanted = graph.map(node, 0), graph.ints(node, "shape", 1) or []
    shape = shape_of(source)
    given = node.ints("axes")
    axes = list(range(len(shape))) if given is None else [axis_of(a, len(shape)) for a in given]
    if len(set(axes)) != len(wanted) or len(axes) != len(wanted) or min(wanted, default=1) < 1:
        raise NodeError(f"shape {wanted} of axes {axes}; expected an extent for each axis")
    picks: dict[int, tuple[Run, ...]] = {}
    for axis, extent in zip(axes, wanted, strict=True):
        room = extent - shape[axis]
        before = room // 2 if room > 0 else -(-room // 2)
        picks[axis] = padded_runs(shape[axis], before, room - before)
    return graph.picked(source, picks, 0.0)


def built(node: Node, graph: Builder) -> Value:
    """Pad, with all pads built."""
    source = graph.map(node, 0)
    element = map_type(source).get_element_type()
    return surrounded(node, graph, source, fill_of(node, graph, element))


def surrounded(node: Node, graph: Builder, source: SSAValue, fill: float) -> SSAValue:
    """Add the layer that pads a map; pads that hold a number hold `fill`.

    Raises: NodeError if the pads leave no element, or if there are too many of them.
    """
    shape, mode = shape_of(source), mode_of(node)
    before, after = all_pads(node, graph, len(shape))
    picks = {
        axis: around(axis, extent, pads, mode)
        for axis, (extent, *pads) in enumerate(zip(shape, before, after, strict=True))
        if any(pads)
    }
    return graph.picked(source, picks, fill)


def around(axis: int, extent: int, pads: Sequence[int], mode: str) -> tuple[Run, ...]:
    """The indices of an axis of `extent` elements with `pads` before and behind it."""
    before, after = pads
    first, end = max(0, -before), extent + min(0, after)
    if first >= end:
        raise NodeError(
            f"pads {before} and {after} of axis {axis}, which has {extent} elements; expected at "
            "least one element to stay"
        )
    if mode == CONSTANT:
        return padded_runs(extent, before, after)
    left = end - first
    expect_length(max(0, before) + left + max(0, after), axis)
    places = np.arange(-max(0, before), left + max(0, after))
    if mode == "edge":
        places = places.clip(0, left - 1)
    elif mode == "wrap":
        places = places % left
    else:
        period = max(1, 2 * (left - 1))
        places = left - 1 - abs(places % period - (left - 1))
    return listed(places + first, axis)


def pad_quantised(node: Node, graph: Builder) -> Value | None:
    """Pad of a quantised map after DequantizeLinear; None if it must be computed on floats."""
    value = settled(graph, graph.value(node, 0))
    if not isinstance(value, Scaled) or value.is_sum or value.is_clamped:
        return None
    before, after = all_pads(node, graph, len(value.shape))
    if not any((*before, *after)):
        return value
    if mode_of(node) != CONSTANT:
        return moved(built, node, graph, value)
    number = float(fill_of(node, graph, f32))
    if is_spatial(before, after):
        spatial = tuple(before[2:]), tuple(after[2:])
        return Surrounded(value, *spatial, number, label=node.label)
    integer = value.params.integer(number)
    if (integer - value.zero_point) * value.scale != np.float32(number):
        return None
    source = value.reshaped(value.value, graph)
    return replace(value, value=surrounded(node, graph, source, integer), view=None)


def is_spatial(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether only spatial axes have pads, and none of them cuts elements off."""
    spatial = len(before) > 2 and not any((*before[:2], *after[:2]))
    return spatial and min(*before, *after) >= 0


def mode_of(node: Node) -> str:
    """What the pads hold.

    Raises: NodeError for an unknown mode.
    """
    mode = node.string("mode", CONSTANT)
    if mode not in MODES:
        raise NodeError(f"mode {mode}; expected {', '.join(MODES)}")
    return mode


def fill_of(node: Node, graph: Builder, element: Attribute) -> float:
    """The number that the pads of a map of these elements hold; 0 if none is given or needed.

    Raises: NodeError if there are several, if it has another type, or if it is nan.
    """
    if mode_of(node) != CONSTANT:
        return 0.0
    fill = graph.optional(node, 2)
    number = node.float("value", 0.0)
    if fill is not None:
        if fill.array.size != 1:
            raise NodeError(f"'{fill.name}' holds {fill.array.size} values of pads; expected one")
        if STORED.get(fill.array.dtype.str[1:]) != element:
            raise NodeError(
                f"pads of {fill.array.dtype} around {element_name(element)} elements; expected "
                "equal types"
            )
        number = fill.array.item()
    if np.isnan(number):
        raise NodeError("pads of value nan; expected a number")
    return number


def all_pads(node: Node, graph: Builder, rank: int) -> tuple[list[int], list[int]]:
    """The widths of the pads before and after each axis; negative ones cut elements off.

    Raises: NodeError for a list of a wrong length, or an axis that the map does not have.
    """
    pads = graph.ints(node, "pads", 1) or []
    given = graph.ints(node, "axes", 3)
    axes = list(range(rank)) if given is None else [axis_of(axis, rank) for axis in given]
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise NodeError(f"pads {pads} of axes {axes}; expected two for each axis")
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[axis], after[axis] = pads[index], pads[index + len(axes)]
    return before, after
