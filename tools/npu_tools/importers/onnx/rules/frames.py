"""Convolutions over depth, rows and columns by layers over rows and columns.

    [N, C, D, H, W] -> transpose -> [N, D * C, H, W] -> slice -> npu.conv2d -> concat -> transpose

A frame is the map at one index of the depth. An output frame reads frames at equal distances. They
are put next to each other, so that they are the channels of one map, and the taps of the depth are
those of more channels. Frames on padding are left out, and so are their taps. Windows that lie next
to each other and have the same taps are the batch of one layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu.layers.transposed import TransposedAxis
from npu_dialect.npu.maps import shape_of
from npu_dialect.runs import Run, runs_of
from npu_dialect.windows import Axis
from npu_tools.importers.onnx.builder import Builder, Constant
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.rules.frame_maps import FrameMap, frames_of, shape_read, swapped
from npu_tools.importers.onnx.rules.products import Products
from npu_tools.importers.onnx.rules.window import Window

MOST_LAYERS = 1024
"""Most maps that a convolution over three axes may become."""
MOST_TAPS = 2**20
"""Most taps along the depth, of all output frames together."""


@dataclass(frozen=True)
class Reads:
    """The frames that an output frame reads, ascending, and the taps that meet them."""

    frames: tuple[int, ...]
    taps: tuple[int, ...]

    @staticmethod
    def of(pairs: Sequence[tuple[int, int]], size: int) -> Reads:
        """The pairs of frame and tap that meet one of `size` frames."""
        inside = [(frame, tap) for frame, tap in pairs if 0 <= frame < size]
        return Reads(tuple(frame for frame, _ in inside), tuple(tap for _, tap in inside))


def reads_of(depth: Axis | TransposedAxis) -> list[Reads]:
    """What each output frame of a convolution reads.

    Raises: NodeError if there are no output frames, or too many.
    """
    if not 1 <= depth.outputs <= MOST_TAPS // depth.kernel:
        raise NodeError(
            f"{depth.outputs} output frames from {depth.size} frames by a kernel of "
            f"{depth.kernel}; expected at least 1, and at most {MOST_TAPS} taps of all of them"
        )
    return [Reads.of(pairs_of(depth, place), depth.size) for place in range(depth.outputs)]


def pairs_of(depth: Axis | TransposedAxis, place: int) -> list[tuple[int, int]]:
    """The frames that the taps of an output frame meet, ascending; they may be on padding."""
    taps = range(depth.kernel)
    if isinstance(depth, Axis):
        return [(depth.start(place) + tap * depth.dilation, tap) for tap in taps]
    met = [(place + depth.before - tap * depth.dilation, tap) for tap in reversed(taps)]
    return [(at // depth.stride, tap) for at, tap in met if at % depth.stride == 0]


@dataclass(frozen=True)
class Frames:
    """The frames of a map that a convolution reads, as [N, groups, frames * C / groups, H, W].

    `places` is where each frame is. Frames that are read together are neighbours. Groups are apart
    if frames are read together.
    """

    image: SSAValue
    places: Mapping[int, int]

    @staticmethod
    def of(
        graph: Builder, source: SSAValue | FrameMap, reads: Sequence[Reads], groups: int
    ) -> Frames:
        """Add the layers that pick the frames of a map [N, C, D, H, W] and arrange them."""
        batch, channels, _, rows, columns = shape_read(source)
        steps = [b - a for each in reads for a, b in pairwise(each.frames)]
        step, groups = (steps[0], groups) if steps else (1, 1)
        used = {frame for each in reads for frame in each.frames} or {0}
        order = sorted(used, key=lambda frame: (frame % step, frame))
        places = {frame: place for place, frame in enumerate(order)}
        runs = runs_of(np.array(order))
        apart = frames_of(graph, source) if groups == 1 else None
        if apart is not None:
            image = graph.picked(apart, {1: runs})
            shape = (batch, 1, len(order) * channels, rows, columns)
            return Frames(graph.reshape(image, shape), places)
        source = source.as_float(graph) if isinstance(source, FrameMap) else source
        picked = graph.picked(source, {2: runs})
        depth = channels // groups
        apart = graph.reshape(picked, (batch, groups, depth, len(order), rows * columns))
        image = graph.reshape(
            swapped(graph, apart), (batch, groups, len(order) * depth, rows, columns)
        )
        return Frames(image, places)

    @property
    def first(self) -> Reads:
        """The first frame by itself."""
        return Reads((next(iter(self.places)),), (0,))

    @property
    def depth(self) -> int:
        """The channels of a group in a frame."""
        return shape_of(self.image)[2] // len(self.places)

    @property
    def has_groups(self) -> bool:
        """Whether the groups are apart."""
        return shape_of(self.image)[1] > 1

    def follows(self, first: Reads, second: Reads) -> bool:
        """Whether two windows lie next to each other and have the same taps."""
        places = self.places
        return first.taps == second.taps and all(
            places[b] - places[a] == len(first.taps)
            for a, b in zip(first.frames, second.frames, strict=True)
        )

    def runs(self, reads: Sequence[Reads]) -> list[list[Reads]]:
        """Windows in runs; those of a run can be the batch of one layer."""
        runs = [[reads[0]]]
        for before, each in pairwise(reads):
            if not self.has_groups and self.follows(before, each):
                runs[-1].append(each)
            else:
                runs.append([each])
        return runs

    def read(self, graph: Builder, run: Sequence[Reads]) -> SSAValue:
        """Add the layers that give what a run reads, as [N * windows, frames * C, H, W]."""
        batch, groups, _, rows, columns = shape_of(self.image)
        count = len(run[0].frames) * self.depth
        start = self.places[run[0].frames[0]] * self.depth
        part = graph.picked(self.image, {2: (Run(start, len(run) * count),)})
        return graph.reshape(part, (batch * len(run), groups * count, rows, columns))


def expect_few(runs: Sequence[Sequence[Reads]]) -> None:
    """Check the number of maps that a convolution becomes.

    Raises: NodeError if they are too many.
    """
    maps = sum(1 if run[0].taps else len(run) for run in runs)
    if maps > MOST_LAYERS:
        raise NodeError(f"{maps} output frames that are layers; expected at most {MOST_LAYERS}")


def frame_layers(
    graph: Builder, source: SSAValue | FrameMap, products: Products, window: Window
) -> list[SSAValue]:
    """Add the layers of a convolution over three axes; returns their maps [N * frames, O, H, W].

    Raises: NodeError if there are no output frames, or too many.
    """
    depth, *plane = products.axes(window, shape_read(source)[2:])
    reads = reads_of(depth)
    frames = Frames.of(graph, source, reads, products.groups)
    runs = frames.runs(reads)
    expect_few(runs)
    found: list[SSAValue] = []
    weights: dict[tuple[int, ...], Constant] = {}
    bias: SSAValue | None = None
    for run in runs:
        taps = run[0].taps
        if taps:
            if taps not in weights:
                weights[taps] = products.of_taps(taps)
            image = frames.read(graph, run)
            found.append(products.layer(graph, image, weights[taps], window.plane))
        else:
            if bias is None:
                image = frames.read(graph, [frames.first])
                bias = products.alone(graph, image, [axis.outputs for axis in plane])
            found += [bias] * len(run)
    return found
