"""Draws the kept and skipped blocks of maps over the input, as figure 5 of paper 003.

Each map is stretched over the whole input. The brightness of a block shows in which share of the
channels it is kept, because it is not zero: bright in all, dark in few. A block that no channel
keeps is blue.

It needs matplotlib, which is an extra (`plot`). The same maps always give the same picture; the
user's settings of matplotlib are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from npu_dialect.interpreters.zero_blocks import spread
from npu_tools.pictures.memory_map_labels import shortened
from npu_tools.reports.zero_block_maps import BlockMap

Image: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = Any
"""Any for matplotlib's class, whose stubs do not type keyword arguments."""

SKIPPED = (0.10, 0.24, 0.62)
"""Colour of blocks that no channel keeps."""
HIDDEN, TINTED = 0.85, 0.65
"""Opacity over the input where almost no channel keeps a block, and where no channel does."""
LEGEND = "blocks: bright, kept in all channels; dark, in few; blue, in none"
SIDE, GAP, HEAD = 3.2, 0.3, 0.62
"""Lengths in inches: the longer side of a panel, the gap between panels, a panel's title."""
FRAME = 0.9
"""Inches for the title above all panels and the legend below them."""
ACROSS = 4
"""Most panels side by side."""
DOTS = 120
"""Dots per inch."""
LINES = 48
"""Lines are drawn between blocks if there are at most this many along each axis."""


def png(image: Image, maps: Sequence[BlockMap], title: str) -> bytes:
    """The bytes of a PNG file: a panel with the input [H, W, 3], then one for each map.

    The panels show the first sample.
    """
    matplotlib: Any = import_module("matplotlib")
    out = BytesIO()
    with matplotlib.rc_context(), catch_warnings():
        simplefilter("ignore")  # matplotlib warns of letters that its font lacks
        matplotlib.rcdefaults()
        matplotlib.rcParams["text.parse_math"] = False
        figure = draw(image, maps, title)
        figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


def draw(image: Image, maps: Sequence[BlockMap], title: str) -> Any:
    """Draw all panels, in rows, as a figure of matplotlib."""
    height, width = image.shape[:2]
    high, wide = (SIDE * extent / max(height, width) for extent in (height, width))
    wide = max(wide, SIDE / 2)  # room for a title
    count = 1 + len(maps)
    across = min(count, ACROSS)
    down = -(-count // across)
    size = (GAP + across * (wide + GAP), FRAME + down * (high + HEAD))
    figure: Any = import_module("matplotlib.figure").Figure(size, facecolor="white")
    figure.text(0.5, 1 - 0.25 / size[1], title, ha="center", va="center", fontsize=9)
    figure.text(0.5, 0.2 / size[1], LEGEND, ha="center", va="center", fontsize=7)
    for place in range(count):
        row, column = divmod(place, across)
        left, top = GAP + column * (wide + GAP), FRAME / 2 + row * (high + HEAD) + HEAD
        box = (left / size[0], 1 - (top + high) / size[1], wide / size[0], high / size[1])
        axes = figure.add_axes(box)
        axes.set_axis_off()
        axes.imshow(image, extent=(0, width, height, 0), interpolation="nearest")
        if place == 0:
            axes.set_title("input", fontsize=8)
        else:
            overlay(axes, maps[place - 1], (height, width))
    return figure


def overlay(axes: Axes, each: BlockMap, size: tuple[int, int]) -> None:
    """Draw the blocks of a map over the input; `size` is the input's (height, width)."""
    height, width = size
    share = kept_share(each)
    axes.imshow(cover(share), extent=(0, width, height, 0), interpolation="nearest", aspect="auto")
    rows, columns = each.kept.shape[2:]
    if max(rows, columns) <= LINES:
        style = {"color": "white", "alpha": 0.3, "linewidth": 0.4}
        for at in range(each.block, each.shape[2], each.block):
            axes.axhline(at * height / each.shape[2], **style)
        for at in range(each.block, each.shape[3], each.block):
            axes.axvline(at * width / each.shape[3], **style)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    zero = 100 - 100 * float(each.kept[: each.shape[0]].mean())
    shape = "x".join(map(str, each.shape[1:]))
    axes.set_title(f"{shortened(each.layer)}\n{shape}, {zero:.1f} % zero", fontsize=7)


def kept_share(each: BlockMap) -> Image:
    """For each element [H, W] of the first sample, the share of channels that keep its block."""
    share = each.kept[: each.shape[0]].mean(axis=(0, 1), keepdims=True)
    return spread(share, each.block, each.shape)[0, 0]


def cover(share: Image) -> Image:
    """The picture [H, W, 4] that is laid over the input: red, green, blue and opacity."""
    colours = np.zeros((*share.shape, 4))
    colours[..., 3] = HIDDEN * (1 - share)
    colours[share == 0] = (*SKIPPED, TINTED)
    return colours
