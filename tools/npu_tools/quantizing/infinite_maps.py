"""Finds the maps that infinite constants make infinite, such as scores with a mask of -inf.

No scale can hold them, so the nodes that read or write them stay in float. A map that is infinite
without such a constant is not among them: the network overflows on the calibration data.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from npu_tools.quantizing.quantize_data import Feeds
from npu_tools.quantizing.taps import tapped

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
"""The element types that have infinities."""


def infinite_maps(model: ModelProto, runs: Sequence[Feeds]) -> set[str]:
    """The maps behind infinite constants that are not finite on these runs."""
    floats = [each for each in model.graph.initializer if each.data_type in FLOATS]
    reached = {each.name for each in floats if not np.isfinite(numpy_helper.to_array(each)).all()}
    behind: list[str] = []
    for node in model.graph.node:
        if not reached.isdisjoint(node.input):
            behind += filter(None, node.output)
            reached.update(behind)
    if not behind:
        return set()
    run, found = tapped(model, behind), set[str]()
    for feeds in runs:
        maps = run(feeds)
        found |= {name for name in behind if not np.isfinite(maps[name]).all()}
    return found


def nodes_in_float(
    model: ModelProto, maps: Collection[str], kinds: Container[str] | None = None
) -> list[str]:
    """The names of the nodes, of some kinds or all, that read or write one of these maps.

    A node without a name gets that of its output.
    """
    names: list[str] = []
    for node in model.graph.node:
        of_kind = kinds is None or node.op_type in kinds
        if of_kind and not {*node.input, *node.output}.isdisjoint(maps):
            node.name = node.name or node.output[0]
            names.append(node.name)
    return names
