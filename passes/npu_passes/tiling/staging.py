"""Chooses the tiles of a layer with operands off the chip, their order and their buffers.

An analysis: nothing is changed. `choose` decides for one layer with operands in `#npu.dram`;
`least_bytes` is the fewest bytes of tile buffers that any choice needs.

- Learned vectors (a bias) are brought on chip once, as a whole; in tiles, if there is no room.
- If the maps of a convolution or fully connected layer are on chip and the machine works on groups
  of kernels, the layer becomes one loop over those groups, or at most `MOST_APART` tiles where each
  has scales of its own.
- Another layer that fits as a whole is one tile.
- Other convolutions and fully connected layers are searched (`tile_search.py`); operands that are
  on chip cost nothing there.
- An op of another dialect gets the best of some tiles and orders of loops (`domain_spaces.py`).
- Everything else is cut along its outermost loops first, into the largest tiles that fit.
- A convolution with a pooling window is taken apart (`pool_apart.py`) if nothing else fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, NoReturn

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, Conv2dOp
from npu_dialect.npu.maps import ELEMENT, element_bytes, shape_of
from npu_passes.analysis.on_chip import in_space
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import refuse, refuse_size
from npu_passes.tiling.conv_tiles import Linear, TileOptions, by_hand, searched
from npu_passes.tiling.domain_spaces import tiles_of
from npu_passes.tiling.finer_tiles import GAIN, climbed, cycles_of, farther, finer
from npu_passes.tiling.layer_spaces import GROUPS, OUT
from npu_passes.tiling.picked_elements import picks_of_rows
from npu_passes.tiling.pool_apart import candidates
from npu_passes.tiling.stage import Stage, Staging, off_chip_operands, stage_of, stages_of
from npu_plans.tiles.operand_regions import Cut, even_sizes

MOST_APART = 8
"""The most tiles of kernels that are code of their own, as each has scales of its own. So the code
of a quantised layer does not grow with its kernels; more tiles would need less memory."""


FAST: tuple[dict[str, Any], ...] = ({"minimize": "cost"}, {"split_rows": False})
"""What is changed in the search for tiles that move more bytes in less time: least time of the
transfers; whole rows, where few columns of a tile make many short runs."""

MOST_BYTES = 200
"""The percentage of the fewest bytes that the fastest tiles may move."""


def least_bytes(op: Operation, off_chip: AbstractSet[SSAValue], machine: Machine) -> int:
    """The fewest bytes of tile buffers with which an op can run if these operands lie off chip.

    Raises: PassFailedException, attached to the op, for an operand that has no tiles.
    """
    check_operands(op)
    if isinstance(op, ConcatOp | memref.CopyOp):
        *parts, out = op.operands
        both = out in off_chip and any(part in off_chip for part in parts)
        if both and not isinstance(element := memref_type(out).element_type, ELEMENT):
            refuse(op, f"expected on-chip elements of a known size, got {element}")
        return max(machine.alignment, element_bytes(memref_type(out))) if both else 0
    return min(
        stage.staging(Cut.of(stage.space, stage.space.smallest), double=False).footprint
        for stage in stages_of(op, off_chip, machine.alignment)
    )


def check_operands(op: Operation) -> None:
    """Reject off-chip operands without elements or without static strides: no transfer moves them.

    Raises: PassFailedException, attached to the op.
    """
    for value in op.operands:
        if not in_space(value, DramSpace()):
            continue
        type_ = memref_type(value)
        if 0 in type_.get_shape():
            refuse_layer(op, f"expected operands with at least 1 element, got {type_}")
        if None in (type_.get_strides() or [None]) and type_.get_shape():
            refuse_layer(op, f"expected operands with static strides, got {type_}")


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
        stages = stages_of(op, off_chip, machine.alignment)
        choices = (chosen(op, stage, machine, free, options) for stage in stages)
        found = next((choice for choice in choices if choice is not None), None)
        need = least_bytes(op, off_chip, machine)
        what = f"its smallest tile needs {need} bytes on chip"
    if found is None:
        reject(op, what, free)
    return found


def reject(op: Operation, what: str, free: int) -> NoReturn:
    """Reject a layer that does not fit; `what` says how many bytes it needs."""
    refuse_size(op, f"{what}, there are {max(0, free)} left", where=label_of(op))


def refuse_layer(op: Operation, what: str) -> NoReturn:
    """Reject a layer."""
    refuse(op, what, label_of(op))


def label_of(op: Operation) -> str:
    """The name of a layer, or else that of its op."""
    return (op.layer_name if isinstance(op, LayerOp) else None) or op.name


def chosen(
    op: Operation, stage: Stage, machine: Machine, free: int, options: TileOptions
) -> Staging | None:
    """The best choice for one way to stage an op, or None if nothing fits.

    Groups of kernels are at most as large as the machine's, or several of these are a tile. The
    paper's model, least cost and single buffers are left as they are; other choices may get other
    sizes that take less time, as long as they move no more bytes. A 1x1 convolution that picks
    elements of rows gets whole rows, as tiles of one column would be runs of one element.

    Raises: PassFailedException, attached to the op, if the tile that the paper's model finds best
    does not fit with its halo.
    """
    on_chip = isinstance(op, Linear) and not off_chip_operands(op) & {op.input, op.output}
    found, groups = None, False
    if isinstance(op, Linear) and on_chip and machine.kernel_group and not stage.sums:
        found = kernel_groups(op, stage, machine, free, options)
        groups = found is not None
    if options.search.model == "physical" and picks_of_rows(op):
        options = replace(options, search=replace(options.search, split_rows=False))
    found, search = found or least_moved(op, stage, machine, free, options), options.search
    as_asked = search.model == "paper" or search.minimize == "cost" or not options.double_buffer
    if found is None or as_asked:
        return found
    if options.fastest and not groups and machine.dma_bytes_per_cycle:
        best = fastest(op, stage, found, machine, free, options)
        return farther(stage, best, machine, free, options.block_size)
    block = options.block_size
    best = finer(stage, found, machine, free, within=groups, block=block)
    if groups:
        best = several_groups(stage, best, machine, free)
    else:
        best = climbed(stage, best, machine, free, block, found.bytes)
    return farther(stage, best, machine, free, block)


def fastest(
    op: Operation,
    stage: Stage,
    found: Staging,
    machine: Machine,
    free: int,
    options: TileOptions,
) -> Staging:
    """The choice that takes the least time; `found` moves the fewest bytes."""
    starts, most = [found], MOST_BYTES * found.bytes // 100
    for change in FAST:
        other = replace(options, search=replace(options.search, **change))
        start = least_moved(op, stage, machine, free, other)
        if start is not None and start not in starts and start.bytes <= most:
            starts.append(start)
    block = options.block_size
    tried = [finer(stage, each, machine, free, block=block, at_most=most) for each in starts]
    best = min(tried, key=lambda each: (cycles_of(stage, each, machine, free), each.bytes))
    return climbed(stage, best, machine, free, block, most)


def least_moved(
    op: Operation, stage: Stage, machine: Machine, free: int, options: TileOptions
) -> Staging | None:
    """The choice that moves the fewest bytes, or None if nothing fits.

    Raises: PassFailedException, attached to the op, if the tile that the paper's model finds best
    does not fit with its halo.
    """
    off_chip = off_chip_operands(op)
    if stage.sums:
        return of_all(stage, candidates(stage.space), free, options)
    if not isinstance(op, LayerOp | memref.CopyOp):
        return of_all(stage, tiles_of(stage.space), free, options)
    whole = best_fit(stage, Cut.of(stage.space, stage.space.whole), free, double=False)
    if whole is not None:
        return whole
    found = [outermost_first(stage, free, options)]
    if isinstance(op, Linear):
        choice = searched(
            op, stage.space, off_chip, free, machine, options, whole_bias=bool(stage.whole)
        )
        if choice is not None:
            cut = Cut.of(stage.space, choice.sizes, choice.order)
            best = best_fit(stage, cut, free, double=options.double_buffer)
            if best is None and options.search.model == "paper":
                need = stage.staging(cut, double=False).footprint
                reject(op, f"the tile of the paper's model needs {need} bytes with its halo", free)
            if best is not None and not (isinstance(op, Conv2dOp) and op.group_count > 1):
                return best
            found.insert(0, best)
    return min(
        (each for each in found if each is not None),
        key=lambda s: (s.bytes, s.transfers),
        default=None,
    )


def best_fit(stage: Stage, cut: Cut, free: int, *, double: bool) -> Staging | None:
    """A choice with double buffers if `double` and they fit, else with single ones, else None."""
    for halves in (True, False) if double else (False,):
        found = stage.staging(cut, double=halves)
        if found.footprint <= free:
            return found
    return None


def kernel_groups(
    op: Linear, stage: Stage, machine: Machine, free: int, options: TileOptions
) -> Staging | None:
    """The choice of one loop over groups of kernels, or None if not even one kernel fits.

    A group is halved until it fits, with double buffers or else with single ones. If each tile is
    code of its own, a tile takes several groups at once, as many as fit.
    """
    kernels = shape_of(op.weight)[0]
    groups = op.group_count if isinstance(op, Conv2dOp) else 1
    size = group = machine.kernel_group
    if any(loop.apart for loop in stage.space.loops):
        size *= -(-kernels // (group * MOST_APART))
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
        size = size - group if size > group else size // 2
    return None


def several_groups(stage: Stage, found: Staging, machine: Machine, free: int) -> Staging:
    """The fastest tiles of 2, 4, 8, ... groups of kernels, or all of them, that fit; or `found`.

    Small groups are loaded faster as one transfer. It is `found` if the machine does not say how
    long things take, or if each group has scales of its own.
    """
    loop = next((each for each in (OUT, GROUPS) if each in found.cut.order), None)
    if loop is None or not machine.dma_bytes_per_cycle or stage.space.loop(loop).apart:
        return found
    found = long_enough(stage, found, loop, machine, free)
    best, least = found, GAIN * cycles_of(stage, found, machine, free)
    sizes, extent, size = dict(found.cut.sizes), stage.space.loop(loop).extent, machine.kernel_group
    while size < extent:
        size = min(2 * size, extent)
        cut = Cut.of(stage.space, {**sizes, loop: size})
        tried = stage.staging(cut, double=found.double_buffer)
        if tried.footprint <= free and (needed := cycles_of(stage, tried, machine, free)) < least:
            best, least = tried, needed
    return best


def long_enough(stage: Stage, found: Staging, loop: str, machine: Machine, free: int) -> Staging:
    """Tiles of as many kernels as take as long to cross the bus as a start, if that many fit.

    Each start may have to queue behind a large transfer of another layer, so a few bytes are not
    worth one. Where two tiles would do, all kernels are one, as two parts take its memory.
    """
    short = machine.dma_setup_cycles * machine.dma_bytes_per_cycle
    extent, size = stage.space.loop(loop).extent, found.cut.size(loop)
    while size < extent and kernel_bytes(stage, found) < short:
        size = extent if extent <= 4 * size else 2 * size
        cut = Cut.of(stage.space, {**dict(found.cut.sizes), loop: size})
        tried = stage.staging(cut, double=found.double_buffer)
        if tried.footprint > free:
            break
        found = tried
    return found


def kernel_bytes(stage: Stage, found: Staging) -> int:
    """The bytes of a tile of kernels."""
    return stage.bytes(found.cut.shape(1), stage.op.operands[1])


def of_all(stage: Stage, cuts: Iterable[Cut], free: int, options: TileOptions) -> Staging | None:
    """The choice of some that moves the fewest bytes, with double buffers if any fits; or None."""
    cuts = list(cuts)
    for double in (True, False) if options.double_buffer else (False,):
        found = (stage.staging(cut, double=double) for cut in cuts)
        fits = (each for each in found if each.footprint <= free)
        best = min(fits, key=lambda s: (s.bytes, s.transfers), default=None)
        if best is not None:
            return best
    return None


def outermost_first(stage: Stage, free: int, options: TileOptions) -> Staging | None:
    """The choice of the largest tiles that fit, cut along the outermost loops first, or None."""
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
