"""Rules for maps of three spatial axes in frames: what works on each element by itself.

It is applied to the frames of each layer, so that passes can fuse it into these layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.moved import applied
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.activation import FUNCTIONS, function
from npu_tools.importers.onnx.rules.elementwise import batch_normalization, clip, relu
from npu_tools.importers.onnx.rules.frame_maps import FrameMap

Rule = Callable[[Node, Builder], Value]


def frame_by_frame(rule: Rule) -> Rule:
    """A rule for a node whose first operand is in frames: the given one for each map of frames."""

    def on_frames(node: Node, graph: Builder) -> Value:
        source = graph.value(node, 0)
        assert isinstance(source, FrameMap)
        values = tuple(applied(rule, node, graph, value) for value in source.frames.values)
        return FrameMap(replace(source.frames, values=values), node.label)

    return on_frames


ON_FRAMES: Mapping[str, Rule] = {
    "BatchNormalization": frame_by_frame(batch_normalization),
    "Clip": frame_by_frame(clip),
    "Relu": frame_by_frame(relu),
    **dict.fromkeys(FUNCTIONS, frame_by_frame(function)),
}
"""The rules by operator; others take the map as a whole, or know frames themselves."""
