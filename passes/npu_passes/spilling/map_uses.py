"""Reads which layers use a map, or a part of one, one after the other: an analysis.

    npu.conv2d ins(%x, ...) outs(%map)        // writes all of %map
    npu.relu ins(%map) outs(%y)               // reads what the convolution wrote
    npu.add ins(%map, %y) outs(%map)          // changes it, so the next use finds something else
    npu.relu ins(%map) outs(%z)

Only layers of one block count as uses. Whatever else reads the map, such as a loop over rows, or a
layer that reads all of a concatenation, finds it where it lies off the chip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.computing import is_computed_on_buffers, parameters_of
from npu_passes.analysis.accesses import Access, accesses, is_known, same_view
from npu_passes.analysis.views import aliases_of, root_of, views_of

IsMap: TypeAlias = Callable[[SSAValue], bool]
"""Whether a value is a map, or a part of one, whose uses are asked for."""


@dataclass(frozen=True)
class MapUse:
    """A layer that reads a map, or writes all of it. `values`: those that stand for the map."""

    op: Operation
    values: tuple[SSAValue, ...]
    reads: bool


@dataclass
class UsedMap:
    """A map, or a part of one at a known place, and the layers that use it, in their order.

    `changed`: how many uses there were when something else changed the map.
    """

    value: SSAValue
    uses: list[MapUse] = field(default_factory=list[MapUse])
    changed: set[int] = field(default_factory=set[int])

    def pairs(self) -> Iterator[tuple[MapUse, MapUse]]:
        """Neighbouring uses, of which the second one reads what the first one reads or writes."""
        for at, (first, second) in enumerate(pairwise(self.uses), 1):
            if at not in self.changed and second.reads:
                yield first, second


def used_maps(block: Block, is_map: IsMap) -> list[UsedMap]:
    """The maps, and parts of them, that layers of a block use."""
    found = UsesInOrder(is_map)
    for op in block.ops:
        found.take(op)
    return [each for maps in found.maps.values() for each in maps]


@dataclass
class UsesInOrder:
    """Collects the uses of maps, op by op. `maps`: those of each buffer."""

    is_map: IsMap
    maps: dict[SSAValue, list[UsedMap]] = field(default_factory=dict[SSAValue, list[UsedMap]])

    def take(self, op: Operation) -> None:
        """Add the uses of an op of the block, and what it does to maps otherwise."""
        if not is_known(op):
            for each in [each for maps in self.maps.values() for each in maps]:
                each.changed.add(len(each.uses))
        seen = list(accesses(op))
        for access in seen:
            if access.op is op and is_used(op, access.value, self.is_map):
                self.note(access)
        for root in dict.fromkeys(access.root for access in seen):
            for each in self.maps.get(root, ()):
                add_use(each, op, seen)

    def note(self, access: Access) -> None:
        """Know the map of an access from now on, if all values that stand for it are views."""
        maps = self.maps.setdefault(access.root, [])
        if any(same_view(each.value, access.value) for each in maps):
            return
        if set(aliases_of(access.root)) <= {access.root, *views_of(access.root)}:
            maps.append(UsedMap(access.value))


def add_use(used: UsedMap, op: Operation, seen: Sequence[Access]) -> None:
    """Add the use of a map by an op, and whether the op changes it. `seen`: its accesses."""
    mine = [each for each in seen if each.op is op and same_view(each.value, used.value)]
    use = use_of(op, mine)
    rest = (each for each in seen if each.writes and (use is None or each not in mine))
    if any(may_share(each.value, used.value) for each in rest):
        used.changed |= {len(used.uses), len(used.uses) + (use is not None)}
    if use is not None:
        used.uses.append(use)


def use_of(op: Operation, mine: Sequence[Access]) -> MapUse | None:
    """How a layer uses a map, of which the accesses are given; None if in another way."""
    writes = [access for access in mine if access.writes]
    if not mine or not is_computed_on_buffers(op) or (writes and len(mine) > 1):
        return None
    if any(not each.all_of_it for each in writes):
        return None
    return MapUse(op, tuple(dict.fromkeys(access.value for access in mine)), not writes)


def is_used(op: Operation, value: SSAValue, is_map: IsMap) -> bool:
    """Whether a layer uses a value as a map, of which the place is known."""
    if not is_computed_on_buffers(op) or value in parameters_of(op) or not is_map(value):
        return False
    return not isinstance(value.owner, memref.SubviewOp) or is_static(value.owner)


def is_static(view: memref.SubviewOp) -> bool:
    """Whether the offsets, sizes and strides of a view are known."""
    return len(view.operands) == 1


def may_share(one: SSAValue, other: SSAValue) -> bool:
    """Whether two views of buffers may have elements in common."""
    if root_of(one) is not root_of(other):
        return False
    first, second = span_of(one), span_of(other)
    if first is None or second is None:
        return True
    return all(
        max(start, begin) < min(end, stop)
        for (start, end), (begin, stop) in zip(first, second, strict=True)
    )


def span_of(value: SSAValue) -> list[tuple[int, int]] | None:
    """The first element on each axis of a part of a buffer, and the one behind the last.

    None if the place is not known, or for a whole buffer.
    """
    view = value.owner
    if not isinstance(view, memref.SubviewOp) or not is_static(view):
        return None
    if view.source is not root_of(value) or set(view.static_strides.iter_values()) != {1}:
        return None
    starts, sizes = view.static_offsets.iter_values(), view.static_sizes.iter_values()
    return [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
