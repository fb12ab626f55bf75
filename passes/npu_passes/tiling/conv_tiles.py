"""Tiles of convolutions and fully connected layers, from the exhaustive search or by hand.

Between the IR and `tile_search.py`, which knows numbers only: one group of one image becomes a
`ConvShape`; operands that are on chip anyway, and the bias, are held. A pooling window behind a
convolution makes its windows larger and keeps all input channels in a tile. A fully connected layer
is a 1x1 convolution whose rows are the images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.analysis.on_chip import element_bytes
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import refuse
from npu_passes.tiling.layer_spaces import COLUMNS, IMAGES, IN, OUT, ROWS, conv_windows
from npu_plans.tiles.cost_model import DmaCosts
from npu_plans.tiles.layer_shape import ConvShape, ElementBytes, TilingError, WindowAxis
from npu_plans.tiles.operand_regions import Space
from npu_plans.tiles.tile_search import SearchOptions, Tiling, search


@dataclass(frozen=True)
class TileOptions:
    """How tiles are chosen: `sizes` by hand (rows, columns, in, out), or by the search."""

    search: SearchOptions = field(default_factory=SearchOptions)
    sizes: tuple[int, ...] = ()
    double_buffer: bool = True


@dataclass(frozen=True)
class Choice:
    """Sizes along all loops of a layer, and the order of those with several steps."""

    sizes: Mapping[str, int]
    order: Sequence[str]


Linear = Conv2dOp | FullyConnectedOp


def loop_of(op: Linear) -> dict[str, str]:
    """The loops that the letters of the search stand for."""
    rows = ROWS if isinstance(op, Conv2dOp) else IMAGES
    return {"s": rows, "t": COLUMNS, "k": IN, "z": OUT}


def by_hand(op: Linear, space: Space, options: TileOptions) -> Choice:
    """The sizes that the user gives, no larger than the layer, in the paper's order of loops.

    Raises: PassFailedException, attached to the op, for a list that is none of sizes.
    """
    if len(options.sizes) != 4 or min(options.sizes) < 1:
        refuse(
            op,
            "expected tile-sizes to be rows, columns, in and out, each at least 1, "
            f"got {list(options.sizes)}",
        )
    names = loop_of(op)
    sizes = space.smallest
    for letter, size in zip("stkz", options.sizes, strict=True):
        if names[letter] in sizes and not space.loop(names[letter]).fixed:
            sizes[names[letter]] = min(size, space.loop(names[letter]).extent)
    return Choice(sizes, [names[letter] for letter in "stkz"])


def searched(
    op: Linear,
    space: Space,
    off_chip: AbstractSet[SSAValue],
    free: int,
    machine: Machine,
    options: TileOptions,
    *,
    whole_bias: bool,
) -> Choice | None:
    """What the search finds best for one group of one image, or None if nothing fits.

    With double buffers first, then with single ones. The bias is on chip as a whole, or in tiles.
    """
    bias = op.bias if op.bias in off_chip else None
    shape = conv_shape(op, off_chip, bias_moves=bias is not None and not whole_bias)
    room = free - gaps(op, machine)
    if bias is not None and whole_bias:
        room -= shape_of(bias)[0] * element_bytes(op, memref_type(bias))
    if shape is None or room < 1:
        return None
    wanted = replace(options.search, split_inputs=not space.loop(IN).fixed)
    single = replace(wanted, stationary="all-single")
    for each in (wanted, single) if options.double_buffer else (single,):
        try:
            return choice_of(op, space, search(shape, room, costs(machine), each))
        except TilingError:
            continue
    return None


def costs(machine: Machine) -> DmaCosts:
    """C, p and t of a machine; one that says nothing is asked for few transfers."""
    if machine.dma_setup == machine.dma_jump == machine.dma_element == 0:
        return DmaCosts(1, 0, 0)
    return DmaCosts(machine.dma_setup, machine.dma_jump, machine.dma_element)


def choice_of(op: Linear, space: Space, found: Tiling) -> Choice:
    """The sizes of the search under the layer's names of loops; one group, one image at a time."""
    names, tile = loop_of(op), found.tile
    sizes = space.smallest
    for letter, size in zip(
        "stkz", (tile.rows, tile.columns, tile.channels_in, tile.channels_out), strict=True
    ):
        if names[letter] in sizes:
            sizes[names[letter]] = min(size, space.loop(names[letter]).extent)
    return Choice(sizes, [names[letter] for letter in found.order])


def gaps(op: Linear, machine: Machine) -> int:
    """Bytes between up to eight buffers that the machine aligns better than elements need."""
    return 8 * max(0, machine.alignment - element_bytes(op, memref_type(op.output)))


def conv_shape(
    op: Linear, off_chip: AbstractSet[SSAValue], *, bias_moves: bool
) -> ConvShape | None:
    """One group of one image as numbers; None for windows that the search does not know."""
    operands = {"input": op.input, "weight": op.weight, "output": op.output}
    held = {name for name, value in operands.items() if value not in off_chip}
    if not bias_moves:
        held.add("bias")
    widths = (element_bytes(op, memref_type(value)) for value in operands.values())
    source, weight, output = widths
    elements = ElementBytes(source, weight, weight, output)
    name = op.layer_name or op.name
    kernels, depth = shape_of(op.weight)[:2]
    try:
        if isinstance(op, Conv2dOp):
            rows, columns = (window_axis(windows) for windows in conv_windows(op))
            kernels //= op.group_count
        else:
            rows, columns = WindowAxis(shape_of(op.input)[0]), WindowAxis(1)
    except TilingError:
        return None
    return ConvShape(name, rows, columns, depth, kernels, elements, frozenset(held))


def window_axis(windows: Sequence[Axis]) -> WindowAxis:
    """Windows over windows as one window over the map, cut off behind the last element it reads.

    Raises: TilingError for windows that lie on padding only.
    """
    stride, span, before = 1, 1, 0
    for window in windows:
        before += window.before * stride
        span += (window.reach - 1) * stride
        stride *= window.stride
    kernel, dilation = span, 1
    if len(windows) == 1:
        kernel, dilation = windows[0].kernel, windows[0].dilation
    end = (windows[-1].outputs - 1) * stride - before + span
    extent = windows[0].size
    return WindowAxis(min(extent, end), kernel, stride, dilation, before, max(0, end - extent))
