"""Tiles of convolutions and fully connected layers, from the exhaustive search or by hand.

It translates between the IR and `tile_search.py`, which knows numbers only. One group of one image
becomes a `ConvShape`. Operands that are on chip anyway are held, which means that they take no tile
buffers and no transfers; so is a bias that is on chip as a whole. A pooling window fused into a
convolution enlarges the convolution's windows, and a tile has all input channels then. A fully
connected layer is a 1x1 convolution whose rows are the images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_dialect.windows import Axis
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import refuse
from npu_passes.tiling.layer_spaces import COLUMNS, IMAGES, IN, OUT, ROWS, conv_windows
from npu_plans.tiles.cost_model import DmaCosts
from npu_plans.tiles.layer_shape import ConvShape, ElementBytes, TilingError, WindowAxis
from npu_plans.tiles.operand_regions import Space
from npu_plans.tiles.tile_search import SearchOptions, Tiling, search


@dataclass(frozen=True)
class TileOptions:
    """How tiles are chosen: with `sizes` (rows, columns, in, out) by hand, else by the search.

    `double_buffer`: whether tiles may have two buffers. `block_size`: rows and columns of a block.
    `fastest`: whether tiles may move more bytes in less time (`staging.fastest`). `producers`:
    whether ops may run on the tiles of the layers that read their output. `sharing`: whether layers
    may run on the same tiles of a map that all of them read.
    """

    search: SearchOptions = field(default_factory=SearchOptions)
    sizes: tuple[int, ...] = ()
    double_buffer: bool = True
    block_size: int = 1
    fastest: bool = False
    producers: bool = True
    sharing: bool = True

    @property
    def fuses(self) -> bool:
        """Whether ops run on the tiles of the layers that read their output.

        Not with tiles by hand or as published, and not where the blocks of zeros of maps that leave
        the chip are left out: these are the outputs of such ops.
        """
        return self.producers and self.is_free

    @property
    def shares(self) -> bool:
        """Whether layers run on the same tiles; not where `fuses` is not either."""
        return self.sharing and self.is_free

    @property
    def is_free(self) -> bool:
        """Whether tiles are neither by hand, nor as published, nor of whole blocks."""
        plain = self.search.model == "physical" and self.search.minimize == "bytes"
        return plain and not self.sizes and self.block_size == 1


@dataclass(frozen=True)
class Choice:
    """Tile sizes along all loops of a layer, and the order of the loops, outermost first."""

    sizes: Mapping[str, int]
    order: Sequence[str]


Linear = Conv2dOp | FullyConnectedOp


def loop_of(op: Linear) -> dict[str, str]:
    """The names of the layer's loops for the search's letters s, t, k and z."""
    rows = ROWS if isinstance(op, Conv2dOp) else IMAGES
    return {"s": rows, "t": COLUMNS, "k": IN, "z": OUT}


def by_hand(op: Linear, space: Space, options: TileOptions) -> Choice:
    """The sizes of `options`, no larger than the layer, in the paper's order of loops.

    Raises: PassFailedException, attached to the op, unless there are four sizes of at least 1.
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
    """The best choice of the search for one group of one image, or None if nothing fits.

    `free`: bytes on chip. Single buffers are tried if double buffers do not fit. `whole_bias`: the
    bias is on chip as a whole, not in tiles.
    """
    bias = op.bias if op.bias in off_chip else None
    shape = conv_shape(op, off_chip, bias_moves=bias is not None and not whole_bias)
    room = free - gaps(op, machine)
    if bias is not None and whole_bias:
        room -= shape_of(bias)[0] * element_bytes(memref_type(bias))
    if shape is None or room < 1:
        return None
    wanted = replace(options.search, split_inputs=not space.loop(IN).fixed)
    single = replace(wanted, stationary="all-single")
    for each in (wanted, single) if options.double_buffer else (single,):
        try:
            cost = costs(machine, element_bytes(memref_type(op.input)))
            return choice_of(op, space, search(shape, room, cost, each))
        except TilingError:
            continue
    return None


def costs(machine: Machine, width: int) -> DmaCosts:
    """C, p and t of a machine (paper 004), for elements of `width` bytes.

    Without them they follow from its cycles; without these, each transfer costs 1.
    """
    if machine.dma_setup or machine.dma_jump or machine.dma_element:
        return DmaCosts(machine.dma_setup, machine.dma_jump, machine.dma_element)
    if not machine.dma_bytes_per_cycle:
        return DmaCosts(1, 0, 0)
    # Integers, as their sums are exact.
    element = width / machine.dma_bytes_per_cycle
    unit = element.denominator
    setup, jump = machine.dma_setup_cycles, machine.dma_jump_cycles
    return DmaCosts(setup * unit, jump * unit, element.numerator)


def choice_of(op: Linear, space: Space, found: Tiling) -> Choice:
    """A result of the search with the layer's names of loops; a tile has one group of one image."""
    names, tile = loop_of(op), found.tile
    sizes = space.smallest
    for letter, size in zip(
        "stkz", (tile.rows, tile.columns, tile.channels_in, tile.channels_out), strict=True
    ):
        if names[letter] in sizes:
            sizes[names[letter]] = min(size, space.loop(names[letter]).extent)
    return Choice(sizes, [names[letter] for letter in found.order])


def gaps(op: Linear, machine: Machine) -> int:
    """An upper bound on the bytes lost to the alignment of tile buffers, at most eight of them."""
    return 8 * max(0, machine.alignment - element_bytes(memref_type(op.output)))


def conv_shape(
    op: Linear, off_chip: AbstractSet[SSAValue], *, bias_moves: bool
) -> ConvShape | None:
    """One group of one image as a `ConvShape`; None if the search cannot express its windows.

    `bias_moves`: whether the bias is brought on chip in tiles.
    """
    operands = {"input": op.input, "weight": op.weight, "output": op.output}
    held = {name for name, value in operands.items() if value not in off_chip}
    if not bias_moves:
        held.add("bias")
    widths = (element_bytes(memref_type(value)) for value in operands.values())
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
    """One window axis with the stride and the reach of nested windows (a kernel, then a pool).

    The map ends behind the last element that is read.

    Raises: TilingError if the windows make no valid `WindowAxis`, as when one reads padding only.
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
