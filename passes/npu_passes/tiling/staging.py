"""How a layer with operands off the chip is staged: its tiles, their order, their buffers.

An analysis: nothing is changed. `choose` decides for one layer of which some operands lie in
`#npu.dram`; `least_bytes` says what any choice needs. What a choice moves is counted by the same
spans that `tile_nest.py` builds its transfers from.

- Learned vectors (a bias) are brought on chip once, as a whole.
- A layer that fits as a whole is one tile.
- If its maps are on chip and the machine works on groups of kernels, it is one loop over those.
- Other convolutions and fully connected layers are searched (`tile_search.py`), operands that are
  on chip held there at no cost.
- Everything else is cut along its outermost loops first, into the largest tiles that fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.target import Machine
from npu_passes.lowering.loop_builder import memref_type
from npu_passes.memory.on_chip import element_bytes, in_space
from npu_passes.tiling.conv_tiles import Linear, TileOptions, by_hand, searched
from npu_passes.tiling.layer_spaces import GROUPS, OUT, loop_names, space_of
from npu_passes.tiling.regions import Along, Cut, Loop, Moves, Space

NAME = "npu-tile-loops"


@dataclass(frozen=True)
class Buffer:
    """A tile buffer: the operands (by index) that share it, its shape, bytes and copies.

    A `whole` buffer holds all of its operand, loaded once.
    """

    operands: tuple[int, ...]
    shape: tuple[int, ...]
    bytes: int
    copies: int
    whole: bool


@dataclass(frozen=True)
class Staging:
    """The choice for one layer, and what it costs.

    `transfers` and `bytes` are those of one run of the layer; `footprint` is what all copies of the
    buffers take on chip. With `double_buffer`, the innermost loop overlaps moving with computing.
    """

    cut: Cut
    buffers: tuple[Buffer, ...]
    double_buffer: bool
    transfers: int
    bytes: int

    @property
    def footprint(self) -> int:
        """Bytes on chip."""
        return sum(buffer.bytes * buffer.copies for buffer in self.buffers)


@dataclass(frozen=True)
class Stage:
    """A layer, its loops, and which of its operands are off chip (by index, without repetition)."""

    op: Operation
    space: Space
    staged: tuple[tuple[int, ...], ...]
    whole: frozenset[int]
    alignment: int

    def buffer(self, cut: Cut, operands: tuple[int, ...], *, double: bool) -> Buffer:
        """The buffer of one operand under a choice of tiles."""
        value, first = self.op.operands[operands[0]], operands[0]
        is_whole = first in self.whole
        shape = shape_of(value) if is_whole else cut.shape(first)
        changes = bool(cut.order) and cut.order[-1] in cut.indexing(first)
        copies = 2 if double and changes and not is_whole else 1
        size = prod(shape) * element_bytes(self.op, memref_type(value))
        size = -(-size // self.alignment) * self.alignment
        return Buffer(operands, shape, size, copies, is_whole)

    def staging(self, cut: Cut, *, double: bool) -> Staging:
        """The choice in full; `double` asks for two halves where that helps."""
        double = double and self.overlaps(cut)
        buffers = tuple(self.buffer(cut, operands, double=double) for operands in self.staged)
        moves = [(index, moved) for group in self.staged for index, moved in self.moves(cut, group)]
        return Staging(
            cut,
            buffers,
            double,
            sum(moved.transfers for _, moved in moves),
            sum(
                moved.elements * element_bytes(self.op, memref_type(self.op.operands[index]))
                for index, moved in moves
            ),
        )

    def overlaps(self, cut: Cut) -> bool:
        """Whether the innermost loop is one, and something is moved in it."""
        if not cut.order or all(s.runs == 1 for s in cut.segments(cut.order[-1])):
            return False
        return any(
            cut.order[-1] in cut.indexing(operands[0])
            for operands in self.staged
            if operands[0] not in self.whole
        )

    def moves(self, cut: Cut, operands: tuple[int, ...]) -> Iterator[tuple[int, Moves]]:
        """What moves through one buffer: an input is loaded, the destination stored."""
        last = len(self.space.operands) - 1
        first = operands[0]
        if first in self.whole:
            yield first, Moves(1, prod(shape_of(self.op.operands[first])))
            return
        if first != last:
            yield first, cut.loads(first)
        if operands[-1] == last:
            yield last, cut.loads(last)
            yield last, reread(self.op, cut)


def reread(op: Operation, cut: Cut) -> Moves:
    """What is read of the destination: sums that are unfinished, or that were begun before."""
    if isinstance(op, Conv2dOp | FullyConnectedOp) and op.accumulate is not None:
        return cut.loads(len(cut.space.operands) - 1)
    return cut.rereads()


def off_chip_operands(op: Operation) -> set[SSAValue]:
    """The operands that lie in `#npu.dram`."""
    return {value for value in op.operands if in_space(value, DramSpace())}


def is_weight(op: Operation, value: SSAValue) -> bool:
    """Whether an operand is learned: a parameter of the layer, or a constant of the module."""
    if isinstance(op, LayerOp) and value in op.parameter_inputs:
        return True
    while isinstance(value, OpResult) and isinstance(
        value.op, memref.SubviewOp | memref.ReinterpretCastOp | memref.CastOp
    ):
        value = value.op.operands[0]
    return isinstance(value, OpResult) and isinstance(value.op, memref.GetGlobalOp)


def stage_of(op: Operation, off_chip: AbstractSet[SSAValue], alignment: int) -> Stage:
    """What there is to stage. Operands that are the same value, used in the same way, share.

    A copy takes its tiles in and out through one buffer.
    """
    space = space_of(op) if isinstance(op, LayerOp) else copy_space(op)
    found: dict[tuple[SSAValue, tuple[Along, ...]], tuple[int, ...]] = {}
    for index, (value, axes) in enumerate(zip(op.operands, space.operands, strict=True)):
        if value in off_chip:
            found[value, axes] = (*found.get((value, axes), ()), index)
    if isinstance(op, memref.CopyOp):
        return Stage(op, space, ((0, 1),), frozenset(), alignment)
    parameters = op.parameter_inputs if isinstance(op, LayerOp) else ()
    whole = frozenset(
        index
        for index, value in enumerate(op.operands)
        if value in parameters and len(shape_of(value)) == 1
    )
    return Stage(op, space, tuple(found.values()), whole, alignment)


def copy_space(op: Operation) -> Space:
    """The loops of an op that copies one map to another of the same shape."""
    shape = shape_of(op.operands[0])
    names = loop_names(len(shape))
    axes = tuple(Along(extent, name) for name, extent in zip(names, shape, strict=True))
    loops = tuple(Loop(name, extent) for name, extent in zip(names, shape, strict=True))
    return Space(loops, (axes, axes))


def least_bytes(op: Operation, off_chip: AbstractSet[SSAValue], machine: Machine) -> int:
    """The fewest bytes of tile buffers with which an op works if these operands lie off chip."""
    if isinstance(op, ConcatOp | memref.CopyOp):
        *parts, out = op.operands
        both = out in off_chip and any(part in off_chip for part in parts)
        return max(machine.alignment, element_bytes(op, memref_type(out))) if both else 0
    stage = stage_of(op, off_chip, machine.alignment)
    cut = Cut.of(stage.space, stage.space.smallest)
    return stage.staging(cut, double=False).footprint


def choose(
    op: Operation, machine: Machine, free: int, options: TileOptions = TileOptions()
) -> Staging:
    """The tiles of a layer (or of a copy within `#npu.dram`) for `free` bytes on chip.

    Raises: PassFailedException, attached to the op, if no tile fits.
    """
    off_chip = off_chip_operands(op)
    stage = stage_of(op, off_chip, machine.alignment)
    if options.sizes and isinstance(op, Linear):
        choice = by_hand(op, stage.space, options)
        cut = Cut.of(stage.space, choice.sizes, choice.order)
        found = best_fit(stage, cut, free, double=options.double_buffer)
        need = stage.staging(cut, double=False).footprint
        what = f"a tile of {list(options.sizes)} needs {need} bytes on chip"
    else:
        found = chosen(op, stage, machine, free, options)
        need = least_bytes(op, off_chip, machine)
        what = f"its smallest tile needs {need} bytes on chip"
    if found is None:
        name = op.layer_name if isinstance(op, LayerOp) else None
        message = f"{NAME}: {name or op.name}: {what}, there are {max(0, free)} left"
        op.emit_error(message, PassFailedException(message))
    return found


def chosen(
    op: Operation, stage: Stage, machine: Machine, free: int, options: TileOptions
) -> Staging | None:
    """The best choice, or None if nothing fits."""
    off_chip = off_chip_operands(op)
    if isinstance(op, Linear):
        if machine.kernel_group and not off_chip & {op.input, op.output}:
            found = kernel_groups(op, stage, machine, free, options)
            if found is not None:
                return found
    whole = best_fit(stage, Cut.of(stage.space, stage.space.whole), free, double=False)
    if whole is not None:
        return whole
    found = [outermost_first(stage, free, options)]
    if isinstance(op, Linear):
        choice = searched(op, stage.space, off_chip, free, machine, options)
        if choice is not None:
            cut = Cut.of(stage.space, choice.sizes, choice.order)
            found.insert(0, best_fit(stage, cut, free, double=options.double_buffer))
            if not isinstance(op, Conv2dOp) or op.group_count == 1:
                return found[0]
    return min(
        (each for each in found if each is not None),
        key=lambda s: (s.bytes, s.transfers),
        default=None,
    )


def best_fit(stage: Stage, cut: Cut, free: int, *, double: bool) -> Staging | None:
    """A choice with two halves if they fit, else with one, else None."""
    for halves in (True, False) if double else (False,):
        found = stage.staging(cut, double=halves)
        if found.footprint <= free:
            return found
    return None


def kernel_groups(
    op: Linear, stage: Stage, machine: Machine, free: int, options: TileOptions
) -> Staging | None:
    """One loop over groups of kernels: with two buffers, else with one, else smaller groups."""
    kernels = shape_of(op.weight)[0]
    groups = op.group_count if isinstance(op, Conv2dOp) else 1
    size = machine.kernel_group
    while size:
        sizes = stage.space.whole
        sizes[OUT] = min(size, kernels // groups)
        if groups > 1:
            sizes[GROUPS] = min(groups, max(1, size // sizes[OUT]))
            if sizes[GROUPS] > 1:
                sizes[OUT] = kernels // groups
        double = options.double_buffer and machine.weight_buffers > 1
        found = best_fit(stage, Cut.of(stage.space, sizes), free, double=double)
        if found is not None:
            return found
        size //= 2
    return None


def outermost_first(stage: Stage, free: int, options: TileOptions) -> Staging | None:
    """The largest tiles that fit, cut along the outermost loops first."""
    for double in (True, False) if options.double_buffer else (False,):
        sizes = stage.space.whole
        for loop in stage.space.loops:
            if loop.fixed:
                continue
            for size in even_sizes(loop.extent):
                cut = Cut.of(stage.space, {**sizes, loop.name: size})
                found = stage.staging(cut, double=double)
                if found.footprint <= free:
                    return found
            sizes[loop.name] = 1
    return None


def even_sizes(extent: int) -> Iterator[int]:
    """The smallest size for each number of tiles, large ones first."""
    last = 0
    for count in range(1, extent + 1):
        size = -(-extent // count)
        if size != last:
            yield size
        last = size
