"""Reads a block of ops as plain data for `npu-prefetch`: what each op touches, needs and computes.

A transfer may be moved if its wait is in the same block. Ops that only compute an address, and
allocations, move with it. An op whose effects are not known, or that names a symbol, stays between
what is in front of it and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.traits import IsTerminator, get_effects

from npu_dialect.arenas import memory_of_space
from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.dma import ReadsOp, StartOp, WaitOp, WritesOp
from npu_dialect.machine import Machine
from npu_dialect.memories import SINGLE
from npu_dialect.sram import AllocOp
from npu_passes.analysis.accesses import accesses
from npu_passes.analysis.boxes import box_of
from npu_passes.analysis.lifetimes import Numbering, escapes
from npu_passes.analysis.on_chip import (
    alignment_of,
    on_chip_spaces,
    on_chip_values,
    pin_of,
    size_of,
)
from npu_passes.analysis.timed_ops import is_free
from npu_passes.analysis.tokens import starts_of
from npu_passes.analysis.views import aliases_of, is_view, key_of
from npu_passes.overlap.overlap import NotPossible, counted, in_dram, is_pure
from npu_passes.overlap.pace import Pace
from npu_passes.support.traits import has
from npu_plans.prefetch.problem import Block as Plan
from npu_plans.prefetch.problem import Lived, Span, Step, Touch, Transfer

KNOWN = (
    *(StartOp, WaitOp, ReadsOp, WritesOp, AllocOp, memref.GetGlobalOp),
    *(scf.ForOp, scf.IfOp, scf.YieldOp),
)
"""Ops of which is known what they touch, or that touch what the ops in them do."""

ALIGNED = 2**32
"""Where one of several memories may begin, in bytes: a multiple of every alignment of a buffer."""


@dataclass
class Placed:
    """A buffer on chip: its value, the block that allocates it, its place, and the ops that use it.

    `offset`, `size` and `alignment` are in bytes. It lives from program point `first` to `last`,
    both included; a loop around a use counts as a whole. `room`: the memory that it lies in.
    Several memories lie one behind the other; `offset` counts from the beginning of the first.
    """

    value: SSAValue
    home: Block
    offset: int
    size: int
    alignment: int
    users: tuple[Operation, ...]
    first: int
    last: int
    room: Span

    @property
    def span(self) -> Span:
        """Its first byte and the end (excluded)."""
        return self.offset, self.offset + self.size


def placed_in(function: Operation, numbering: Numbering, machine: Machine) -> tuple[Placed, ...]:
    """The buffers on chip of a function; none of them if one has no offset, or if blocks branch."""
    if numbering.branches:
        return ()
    rooms = rooms_of(machine)
    found: list[Placed] = []
    for space in on_chip_spaces(function):
        if memory_of_space(space) not in rooms:
            return ()
        room, alignment = rooms[memory_of_space(space)]
        for value in on_chip_values(function, space):
            op = value.owner if isinstance(value.owner, Operation) else function
            home = value.owner if isinstance(value.owner, Block) else value.owner.parent
            offset = pin_of(function, op, value)
            if offset is None or home is None:
                return ()
            size, own = size_of(op, value.type), alignment_of(op, value.type)
            aliases = aliases_of(value)
            users = tuple(use.operation for alias in aliases for use in alias.uses)
            life = numbering.lifetime(value, aliases)
            least = max(alignment, own)
            found.append(Placed(value, home, room[0] + offset, size, least, users, *life, room))
    return tuple(found)


def rooms_of(machine: Machine) -> dict[str, tuple[Span, int]]:
    """Each memory by its name: its first byte and the end, and the alignment of buffers in it.

    One of several memories begins behind the one before, at a multiple of `ALIGNED`.
    """
    if not machine.memories:
        return {SINGLE: ((0, machine.sram_bytes), machine.alignment)}
    found: dict[str, tuple[Span, int]] = {}
    first = 0
    for each in machine.memories:
        alignment = max(each.alignment, machine.alignment)
        found[each.name] = ((first, first + each.bytes), alignment)
        first += -(-each.bytes // ALIGNED) * ALIGNED
    return found


def read_block(block: Block, numbering: Numbering, placed: Sequence[Placed], pace: Pace) -> Plan:
    """The ops of a block as steps, with the buffers of `placed` that the block allocates."""
    ops = list(block.ops)
    number = {op: index for index, op in enumerate(ops)}
    transfers = list(transfers_of(ops, number, pace))
    moved = {step: each for each in transfers for step in (each.start, each.wait)}
    inside = spans_inside(block, number, numbering, placed)
    points = {numbering.start[op]: step for op, step in number.items()}
    steps = tuple(
        Step(
            touches_of(ops[moved[index].start] if index in moved else op),
            tuple(sorted({*needed(op, block, number)})),
            pace.work(op),
            isinstance(op, AllocOp) or is_pure(op),
            is_fixed(op),
            tuple(sorted(inside[index])),
            *((0, 0) if index in moved else (pace.moved_in(op), pace.data_in(op))),
        )
        for index, op in enumerate(ops)
    )
    waits = {number[op]: waits_of(op, block, number) for op in ops if isinstance(op, StartOp)}
    buffers = tuple(
        Lived(
            *(each.offset, each.size, steps_of(each, block, number), each.alignment, each.room),
            parts_of(each, numbering, points, waits),
        )
        for each in placed
        if each.home is block
    )
    return Plan(steps, tuple(transfers), buffers, pace.channels(block))


def transfers_of(
    ops: Sequence[Operation], number: Mapping[Operation, int], pace: Pace
) -> Iterator[Transfer]:
    """The transfers that a block starts and waits for, in the order of their starts."""
    for index, op in enumerate(ops):
        if not isinstance(op, StartOp) or op.blocked:
            continue
        waits = [use.operation for use in op.token.uses]
        if len(waits) == 1 and isinstance(waits[0], WaitOp) and waits[0] in number:
            if in_dram(op.source) != in_dram(op.target):
                cycles = pace.moving(op), pace.data(op)
                yield Transfer(index, number[waits[0]], in_dram(op.source), *cycles)


def steps_of(placed: Placed, block: Block, number: Mapping[Operation, int]) -> tuple[int, ...]:
    """The steps of a block between which a buffer lives.

    For an argument of a function, or a buffer whose uses are not all known, these are the ends.
    """
    if isinstance(placed.value.owner, Block) or any(map(escapes, aliases_of(placed.value))):
        return (0, len(number) - 1)
    found = {block.find_ancestor_op_in_block(user) for user in placed.users}
    return tuple(sorted(number[op] for op in found if op is not None))


def parts_of(
    placed: Placed,
    numbering: Numbering,
    steps: Mapping[int, int],
    waits: Mapping[int, AbstractSet[int]],
) -> tuple[tuple[Span, tuple[int, ...]], ...]:
    """The parts of a buffer and the steps that use them; none if it is in use as a whole.

    A double buffer has two parts: in front of its loop the first one is loaded, and the last one is
    used behind it. `steps`: the step at each program point. `waits`: for each step that starts a
    transfer those that may wait for it, which use the same part.
    """
    found = numbering.filling(placed.value)
    if all(end - start == placed.size for _, start, end in found):
        return ()
    bounds = sorted({each for _, *span in found for each in span})
    parts: list[tuple[Span, tuple[int, ...]]] = []
    for first, stop in pairwise(bounds):
        users = {steps[at] for at, start, end in found if start <= first and stop <= end}
        users.update(*(waits[each] for each in users if each in waits))
        if users:
            parts.append(((first, stop), tuple(sorted(users))))
    return tuple(parts)


def waits_of(start: StartOp, block: Block, number: Mapping[Operation, int]) -> set[int]:
    """The steps of a block that use the token of a transfer, also one that a loop carries on."""
    found: dict[SSAValue, None] = {start.token: None}
    steps: set[int] = set()
    pending = list(found)
    while pending:
        for use in pending.pop().uses:
            op = block.find_ancestor_op_in_block(use.operation)
            if op is not None:
                steps.add(number[op])
            new = [each for each in handed_on(use) if each not in found]
            found.update(dict.fromkeys(new))
            pending += new
    return steps


def handed_on(use: Use) -> Iterator[SSAValue]:
    """The values that stand for a token behind a use of it.

    A loop that surely runs hands on what its body yields, and not what it begins with.
    """
    op, parent = use.operation, use.operation.parent_op()
    if isinstance(op, scf.ForOp) and use.index >= 3:
        yield op.body.block.args[use.index - 2]
        if not runs(op):
            yield op.results[use.index - 3]
    elif isinstance(op, scf.YieldOp) and isinstance(parent, scf.ForOp):
        yield parent.results[use.index]
        yield parent.body.block.args[use.index + 1]
    elif not isinstance(op, WaitOp):
        yield from (op if parent is None or not isinstance(op, scf.YieldOp) else parent).results


def runs(loop: scf.ForOp) -> bool:
    """Whether a loop has a step, as far as that is known."""
    try:
        return counted(loop)[1] > 0
    except NotPossible:
        return False


def spans_inside(
    block: Block,
    number: Mapping[Operation, int],
    numbering: Numbering,
    placed: Sequence[Placed],
) -> list[set[Span]]:
    """For each op of a block the memory of the buffers that live in it and that others allocate.

    Buffers of inner blocks live in the op that has the inner block, and buffers of outer blocks in
    all of the block.
    """
    inside = [set[Span]() for _ in number]
    around: set[Span] = set()
    top = block.parent_op()
    first, last = (0, 0) if top is None else (numbering.start[top], numbering.end[top])
    for each in placed:
        if each.home is block:
            continue
        parent = each.home.parent_op()
        inner = None if parent is None else block.find_ancestor_op_in_block(parent)
        if inner is not None:
            inside[number[inner]].add(each.span)
        elif each.first <= last and first <= each.last:
            around.add(each.span)
    return [spans | around for spans in inside]


def touches_of(op: Operation) -> tuple[Touch, ...]:
    """The parts of buffers that an op, and the ops in it, read and write."""
    if isinstance(op, ReadsOp | WritesOp):
        return ()
    found: dict[Touch, None] = {}
    for each in accesses(op):
        box = box_of(each.value)
        if each.reads:
            found[Touch(each.key, box, False)] = None
        if each.writes:
            found[Touch(each.key, box, True)] = None
    for inner in op.walk():
        if isinstance(inner, WaitOp):
            for start in starts_of(inner.token):
                found.update(dict.fromkeys(touches_of(start)))
        elif isinstance(inner, StartOp):
            found.update((Touch(key_of(value), None, True), None) for value in inner.blocked)
    return tuple(found)


def needed(op: Operation, block: Block, number: Mapping[Operation, int]) -> Iterator[int]:
    """The ops of a block whose results an op, or an op in it, uses."""
    for inner in op.walk():
        for operand in inner.operands:
            if isinstance(operand.owner, Operation) and operand.owner.parent is block:
                yield number[operand.owner]


def is_fixed(op: Operation) -> bool:
    """Whether nothing may cross an op: it ends the block, or its effects are not known."""
    return has(op, IsTerminator) or any(map(is_opaque, op.walk()))


def is_opaque(op: Operation) -> bool:
    """Whether an op, without those inside it, may touch what its operands do not show."""
    if isinstance(op, KNOWN) or is_view(op) or is_computed_on_buffers(op) or is_free(op):
        return False
    names = any(isinstance(each, SymbolRefAttr) for each in attributes_of(op))
    return names or get_effects(op) is None


def attributes_of(op: Operation) -> Iterator[Attribute]:
    """The properties and attributes of an op."""
    yield from op.properties.values()
    yield from op.attributes.values()
