"""Writes a layer in groups, and its transfers in parts: the end of `npu-split-layers`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, product

from xdsl.ir import SSAValue

from npu_dialect.attributes import TILE
from npu_dialect.dma import StartOp, WaitOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_passes.analysis.views import root_of
from npu_passes.overlap.bare_transfers import Cut, Split, addresses, is_quiet
from npu_passes.overlap.overlap import in_dram
from npu_passes.overlap.read_block import touches_of
from npu_passes.overlap.split_transfers import slice_of
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.tiling.layer_spaces import GROUPS, TileForm, tile_layer
from npu_plans.tiles.operand_regions import Along
from npu_plans.tiles.slices import axis_along


def build(split: Split) -> None:
    """Replace a layer and its transfers by groups and parts."""
    layer, stores = split.layer, split.stores
    block = layer.parent
    assert block is not None
    for each in stores:
        for op in addresses(each.flight.start, layer):
            op.detach()
            block.insert_op_before(op, layer)
    waits = [
        [*loaded, *left]
        for loaded, left in zip(start_loads(split), start_earlier(split), strict=True)
    ]
    b, firsts = LoopBuilder(layer), list(accumulate(split.sizes, initial=0))
    groups = list[LayerOp]()
    for number, (first, count) in enumerate(zip(firsts, split.sizes, strict=False)):
        for wait in waits[number]:
            b.insert(wait)
        group = b.insert(group_of(b, split, first, count))
        groups.append(group)
        if number:
            TILE.drop(group)
        for each in stores:
            part = start_part(b, split, each, number)
            block.insert_op_before(WaitOp(part.token), each.flight.wait)
    for each in split.cuts:
        for op in (each.flight.wait, each.flight.start):
            block.erase_op(op)
    block.erase_op(layer)
    wait_late(groups)


def wait_late(groups: Sequence[LayerOp]) -> None:
    """Wait for stores of what groups overwrite behind those groups that overwrite other parts."""
    b, out, op = LoopBuilder(groups[0]), root_of(groups[0].operands[-1]), groups[0].prev_op
    while op is not None and is_quiet(op):
        wait, op = op, op.prev_op
        if not isinstance(wait, WaitOp) or not isinstance(start := wait.token.owner, StartOp):
            continue
        if in_dram(start.source) or root_of(start.source) is not out:
            continue
        moved, place, passed = touches_of(start), wait.next_op, False
        while place is not None and place is not groups[-1]:
            if any(one.meets(two) for one, two in product(moved, touches_of(place))):
                break
            passed, place = passed or place in groups, place.next_op
        if passed and place is not None:
            wait.detach()
            b.block.insert_op_before(wait, place)


def start_loads(split: Split) -> list[list[WaitOp]]:
    """Build the starts of all parts of the loads; returns the waits for each group but the first.

    The parts of the first group start where the loads have started; the others start behind the
    last start that the first group waits for, as transfers have the bus in the order of starts.
    """
    waits = [list[WaitOp]() for _ in split.sizes]
    if not split.loads:
        return waits
    last = max((*(each.flight for each in split.loads), *split.others), key=lambda f: f.first)
    place = last.start.next_op
    assert place is not None
    later = LoopBuilder(place)
    for number in range(1, len(split.sizes)):
        for each in split.loads:
            part = start_part(later, split, each, number)
            waits[number].append(WaitOp(part.token))
    for each in split.loads:
        part = start_part(LoopBuilder(each.flight.start), split, each, 0)
        later.block.insert_op_before(WaitOp(part.token), each.flight.wait)
    return waits


def start_earlier(split: Split) -> list[list[WaitOp]]:
    """Build the starts of the parts of stores of what is overwritten; returns as `start_loads`.

    All parts start where the stores have started.
    """
    waits = [list[WaitOp]() for _ in split.sizes]
    for each in split.earlier:
        b = LoopBuilder(each.flight.start)
        for number in range(len(split.sizes)):
            wait = WaitOp(start_part(b, split, each, number).token)
            if number:
                waits[number].append(wait)
            else:
                b.block.insert_op_before(wait, each.flight.wait)
    return waits


def start_part(b: LoopBuilder, split: Split, cut: Cut, number: int) -> StartOp:
    """Build the start of one part of a transfer.

    A slice of the layer is several elements of the axis if it is a group of channels.
    """
    op = cut.flight.start
    pitch = shape_of(op.target)[cut.axis] // sum(split.sizes)
    first, count = pitch * sum(split.sizes[:number]), pitch * split.sizes[number]
    source, target = (slice_of(b, each, cut.axis, first, count) for each in (op.source, op.target))
    weights = op.weights is not None
    part = b.insert(StartOp(source, target, cut.channels[number], weights=weights))
    part.attributes.update(op.attributes)
    part.token.name_hint = op.token.name_hint
    return part


def group_of(b: LoopBuilder, split: Split, first: int, count: int) -> LayerOp:
    """The op that computes some slices of a layer."""
    layer, tile = split.layer, split.tile(first, count)

    def part(value: SSAValue, axes: Sequence[Along]) -> SSAValue:
        axis = axis_along(axes, split.loop)
        if axis is None or not is_buffer_type(value.type):
            return value
        span = axes[axis].span(tile)
        return slice_of(b, value, axis, span.low, span.size)

    operands = zip(layer.operands, split.space.operands, strict=True)
    *inputs, out = (part(value, axes) for value, axes in operands)
    channels = split.space.operands[-1][1:2]
    channel = next((axis.span(tile).low for axis in channels), 0)
    at_once = tile[GROUPS].count if GROUPS in tile else 1
    form = TileForm(None, None, at_once, opens=True, closes=True, channel=channel)
    return tile_layer(layer, form, inputs, out)
