"""Kept and skipped blocks of maps, laid over the input: figure 5 of paper 003.

Each map is stretched over the whole input. A block lets as much of the input through as the share
of channels that keep it: bright where it moves in all channels, dark where in few. Where it moves
in none, it is blue.

Drawn with matplotlib, which is an extra (`plot`). The same maps give the same picture, and no
setting of the user's matplotlib counts.
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
"""matplotlib's: its stubs leave every keyword argument unknown, so nothing would be checked."""

SKIPPED = (0.10, 0.24, 0.62)
"""Colour of blocks that no channel keeps."""
HIDDEN, TINTED = 0.85, 0.65
"""How much of the input is hidden where next to no channel keeps a block, and where none does."""
LEGEND = "blocks: bright, kept in all channels; dark, in few; blue, in none"
SIDE, GAP, HEAD = 3.2, 0.3, 0.62
"""Inches: the longer side of a panel, between two of them, and for its title."""
FRAME = 0.9
"""Inches for the title above all panels and the legend below them."""
ACROSS = 4
"""Most panels side by side."""
DOTS = 120
"""Dots an inch."""
LINES = 48
"""Most blocks along an axis that get lines between them."""


def png(image: Image, maps: Sequence[BlockMap], title: str) -> bytes:
    """The input [H, W, 3] and a panel for each map (of the first sample), as a PNG file."""
    matplotlib: Any = import_module("matplotlib")
    out = BytesIO()
    with matplotlib.rc_context(), catch_warnings():
        simplefilter("ignore")  # a letter that the font does not have
        matplotlib.rcdefaults()
        matplotlib.rcParams["text.parse_math"] = False
        figure = draw(image, maps, title)
        figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


def draw(image: Image, maps: Sequence[BlockMap], title: str) -> Any:
    """All panels in rows."""
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
    """Lay the blocks of a map over an input of `size` (height, width)."""
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
    """The share of channels that keep its block, for each element [H, W] of the first sample."""
    share = each.kept[: each.shape[0]].mean(axis=(0, 1), keepdims=True)
    return spread(share, each.block, each.shape)[0, 0]


def cover(share: Image) -> Image:
    """What hides the input, [H, W, 4]: red, green, blue, and how much."""
    colours = np.zeros((*share.shape, 4))
    colours[..., 3] = HIDDEN * (1 - share)
    colours[share == 0] = (*SKIPPED, TINTED)
    return colours
