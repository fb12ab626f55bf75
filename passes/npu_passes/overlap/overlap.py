"""Which transfers of a loop can run while it computes: the analysis of `npu-double-buffer`.

    scf.for %i ... {npu.double_buffer} {
      dma.start %rows to %a; dma.wait        // load:    may run while step i - 1 computes
      npu.conv2d ins(%a) outs(%b)            // compute
      dma.start %b to %out; dma.wait         // store:   may run while step i + 1 computes
    }

A step is cut into loads, compute and stores; transfers of inner loops are part of compute. These
conditions are checked:

- a buffer's contents belong to one step: it is written before it is read in each step, or it is
  allocated in the body (`accesses.private`);
- the addresses of loads and stores are functions of the induction variable;
- no load reads what an earlier step stores, and nothing else uses the map that a delayed store
  writes.

The store of a buffer that is also loaded (a tile of sums) is delayed only with `npu.late_sums`. Of
two parts, one belongs to this step and the other one to the load for the next step. A third part
holds what the last step has computed, until it is stored.

With `npu.two_ahead`, loads run while steps i - 2 and i - 1 compute, into one part more. A loop of
two steps, or one in which a load may read what one of the steps before it stores, has loads one
step ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove, MemoryAllocEffect, is_side_effect_free

from npu_dialect.attributes import LATE_SUMS, TWO_AHEAD
from npu_dialect.dma import StartOp, WaitOp
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.maps import is_buffer_type
from npu_dialect.sram import AllocOp
from npu_passes.analysis.accesses import Access, accesses, private
from npu_passes.analysis.affine_index import apart, constant_of
from npu_passes.analysis.views import key_of, root_of


class NotPossible(Exception):
    """The transfers of a loop cannot overlap its computing; the message says why."""


@dataclass(frozen=True)
class LoopTransfer:
    """A transfer in the body of a loop; `alloc` allocates its on-chip buffer."""

    start: StartOp
    wait: WaitOp
    alloc: AllocOp


@dataclass(frozen=True)
class Schedule:
    """The three parts of each step of a loop.

    The loop has `rounds` steps; in step n its induction variable is first + n * step. Each part
    lists its ops in the order of the body, with the ops that compute their addresses.
    """

    loop: scf.ForOp
    first: int
    step: int
    rounds: int
    loads: tuple[Operation, ...]
    compute: tuple[Operation, ...]
    stores: tuple[Operation, ...]
    buffers: tuple[AllocOp, ...]
    """The buffers that become double buffers, in the order of the transfers."""
    loaded: frozenset[AllocOp] = frozenset()
    """Those among them that are loaded."""
    late: frozenset[AllocOp] = frozenset()
    """Those among them that are loaded and stored a step later."""
    ahead: int = 1
    """How many steps before its own a load starts."""

    def parts(self, alloc: AllocOp) -> int:
        """How many steps have tiles in a buffer at one time."""
        before = self.ahead if alloc in self.loaded else 1
        return min(before + 1 + (alloc in self.late), self.rounds)


def schedule_of(loop: scf.ForOp) -> Schedule:
    """How the steps of a loop can overlap.

    With `npu.late_sums`, stores of buffers that are also loaded are delayed if they can be; with
    `npu.two_ahead`, loads start two steps before their own if they can.

    Raises: NotPossible if a condition does not hold; the message says which.
    """
    *wishes, last = product((LATE_SUMS.is_on(loop), False), (1 + TWO_AHEAD.is_on(loop), 1))
    for late_sums, ahead in dict.fromkeys(wishes):
        try:
            return schedule_with(loop, ahead, late_sums=late_sums)
        except NotPossible:
            continue
    return schedule_with(loop, last[1], late_sums=last[0])


def schedule_with(loop: scf.ForOp, ahead: int, *, late_sums: bool) -> Schedule:
    """How the steps of a loop can overlap; `late_sums`: with delayed stores of all buffers.

    `ahead`: how many steps before its own a load starts.

    Raises: NotPossible if a condition does not hold; the message says which.
    """
    first, rounds, step = trip(loop)
    if rounds <= ahead:
        raise NotPossible("it has too few steps")
    body = loop.body.block
    transfers = tuple(transfers_of(body))
    loads = [each for each in transfers if is_load(each.start)]
    loaded = {each.alloc for each in loads}
    stores = [
        each
        for each in transfers
        if not is_load(each.start) and (late_sums or each.alloc not in loaded)
    ]
    moved = [*loads, *stores]
    if not moved:
        raise NotPossible("it has no transfers of its own")
    buffers = tuple(dict.fromkeys(each.alloc for each in moved))
    for alloc in buffers:
        check_buffer(alloc, loop)
    check_places(body, loads, stores)
    check_dram(loop, loads, stores, [step * n for n in range(1, ahead + 2) if n < rounds])
    taken: set[Operation | None] = {op for each in moved for op in (each.start, each.wait)}
    taken |= {*buffers, body.last_op}
    rest = [op for op in body.ops if not is_pure(op) and op not in taken]
    return Schedule(
        loop,
        first,
        step,
        rounds,
        with_addresses(body, [op for each in loads for op in (each.start, each.wait)]),
        with_addresses(body, rest, anything=True),
        with_addresses(body, [op for each in stores for op in (each.start, each.wait)]),
        buffers,
        frozenset(loaded),
        frozenset(each.alloc for each in stores if each.alloc in loaded),
        ahead,
    )


def trip(loop: scf.ForOp) -> tuple[int, int, int]:
    """First value, number of steps and increment of a loop that carries no values.

    Raises: NotPossible if its bounds are not constant, it carries values, or it has fewer than 2
        steps.
    """
    first, rounds, step = counted(loop)
    if loop.iter_args:
        raise NotPossible("it carries values")
    if rounds < 2:
        raise NotPossible(f"it has {rounds} step" + "s" * (rounds != 1))
    return first, rounds, step


def counted(loop: scf.ForOp) -> tuple[int, int, int]:
    """First value, number of steps and increment of a loop, which may carry values.

    Raises: NotPossible if its bounds are not constant.
    """
    first, end, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if first is None or end is None or step is None or step < 1:
        raise NotPossible("its bounds are not known")
    return first, max(0, -(-(end - first) // step)), step


def is_load(start: StartOp) -> bool:
    """Whether a transfer goes onto the chip."""
    return not in_dram(start.target)


def in_dram(value: SSAValue) -> bool:
    """Whether a buffer lies off the chip."""
    type_ = value.type
    return is_buffer_type(type_) and isinstance(type_.memory_space, DramSpace)


def is_pure(op: Operation) -> bool:
    """Whether an op only computes its results, such as an address."""
    return not op.regions and is_side_effect_free(op)


def transfers_of(body: Block) -> Iterator[LoopTransfer]:
    """The transfers in the body of a loop, without those of inner loops.

    Raises: NotPossible if one is not waited for in the body, is not between on chip and off chip,
        or has an on-chip buffer that is no part of an sram.alloc.
    """
    for op in body.ops:
        if not isinstance(op, StartOp):
            continue
        waits = [use.operation for use in op.token.uses]
        if len(waits) != 1 or not isinstance(waits[0], WaitOp) or waits[0].parent is not body:
            raise NotPossible("a transfer is not waited for in its step")
        if in_dram(op.source) == in_dram(op.target):
            raise NotPossible("a transfer does not cross the border of the chip")
        on_chip = op.target if is_load(op) else op.source
        root = root_of(on_chip)
        if not isinstance(root, OpResult) or not isinstance(root.op, AllocOp):
            raise NotPossible(f"{name_of(on_chip)} is no part of an sram.alloc")
        yield LoopTransfer(op, waits[0], root.op)


def name_of(value: SSAValue) -> str:
    """The name of a buffer for messages."""
    return f"%{value.name_hint}" if value.name_hint else "a buffer"


def check_buffer(alloc: AllocOp, loop: scf.ForOp) -> None:
    """Check that a double buffer can replace a buffer.

    Raises: NotPossible if it has an offset, cannot be doubled along its outermost axis, is used
        through other views than subviews, or keeps contents from one step to the next.
    """
    name, type_ = name_of(alloc.buffer), alloc.buffer.type
    assert is_buffer_type(type_)
    if alloc.offset is not None:
        raise NotPossible(f"{name} has an offset already")
    shape, strides = type_.get_shape(), type_.get_strides()
    if not shape or strides is None or type_.get_offset() != 0 or any(s is None for s in strides):
        raise NotPossible(f"{name} has no outermost axis that could be doubled")
    rows = [(extent - 1) * (pitch or 0) for extent, pitch in zip(shape, strides, strict=True)]
    if sum(rows) >= shape[0] * (strides[0] or 0):
        raise NotPossible(f"the slices of {name} interleave")
    if (other := other_view(alloc.buffer)) is not None:
        raise NotPossible(f"{name} is seen through {other.name}")
    if alloc.parent is not loop.body.block and (why := private(alloc.buffer, loop)) is not None:
        raise NotPossible(f"{name} {why}")


def other_view(value: SSAValue) -> Operation | None:
    """An op other than `memref.subview` that makes or passes on a view of a buffer, if any."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, memref.SubviewOp):
            if (found := other_view(op.result)) is not None:
                return found
        elif any(is_buffer_type(result.type) for result in op.results):
            return op
        elif isinstance(op, scf.YieldOp | scf.ForOp):
            return op
    return None


def check_places(
    body: Block, loads: Sequence[LoopTransfer], stores: Sequence[LoopTransfer]
) -> None:
    """Check that in a step loads come before all uses of their buffer, and stores after them.

    Raises: NotPossible if one does not.
    """
    order = {op: index for index, op in enumerate(body.ops)}
    moved = {each.start for each in (*loads, *stores)}
    for access in (each for op in body.ops for each in accesses(op)):
        if access.op in moved:
            continue
        ancestor = body.find_ancestor_op_in_block(access.op)
        assert ancestor is not None
        for each in loads:
            if each.alloc.buffer is access.root and order[ancestor] < order[each.start]:
                raise NotPossible(f"{name_of(access.root)} is used before it is loaded")
        for each in stores:
            if each.alloc.buffer is access.root and order[ancestor] > order[each.start]:
                raise NotPossible(f"{name_of(access.root)} is used after it is stored")


def check_dram(
    loop: scf.ForOp,
    loads: Sequence[LoopTransfer],
    stores: Sequence[LoopTransfer],
    distances: Sequence[int],
) -> None:
    """Check that loads and stores may run beside other steps, as far as off-chip maps go.

    `distances`: from the induction variable of a step to those of the next steps whose loads may
    run before the stores of this one are done.

    Raises: NotPossible if a load may read what a step before it stores, if another op uses the map
        that a store writes, or if it is not known which map an op uses.
    """
    early, late = ([each.start for each in group] for group in (loads, stores))
    off_chip = [each for op in loop.body.block.ops for each in accesses(op) if in_dram(each.value)]
    if any(each.writes for each in off_chip) and not all(is_known(each.root) for each in off_chip):
        raise NotPossible("nobody knows which map one of its ops uses")
    for access in off_chip:
        for start in early:
            if access.writes and access.key == key_of(start.source):
                if not clear_of(loop, access, start, distances):
                    raise NotPossible("a load may read what a step before it stores")
        for start in late:
            if access.op is start or access.op in early or access.key != key_of(start.target):
                continue
            if not (isinstance(access.op, StartOp) and access.op in late) or (
                access.op.channel != start.channel
            ):
                raise NotPossible("something else uses the map that it stores")


def is_known(root: SSAValue) -> bool:
    """Whether a buffer is known not to be a part of another one.

    That holds for arguments of functions, allocations and globals.
    """
    if isinstance(root, OpResult):
        allocates = root.op.has_trait(MemoryAllocEffect, value_if_unregistered=False)
        return allocates or isinstance(root.op, memref.GetGlobalOp)
    parent = root.owner.parent_op() if isinstance(root.owner, Block) else None
    return parent is not None and parent.has_trait(IsolatedFromAbove, value_if_unregistered=False)


def clear_of(loop: scf.ForOp, access: Access, load: StartOp, distances: Sequence[int]) -> bool:
    """Whether `load` reads nothing in some later steps that `access` writes in this step.

    `distances`: those of the induction variable. It is known only for a transfer in the body of the
    loop itself; False for any other access.
    """
    if not isinstance(access.op, StartOp) or access.op.parent is not loop.body.block:
        return False
    return apart(load.source, access.value, loop.body.block.args[0], distances)


def with_addresses(
    body: Block, wanted: Sequence[Operation], *, anything: bool = False
) -> tuple[Operation, ...]:
    """Some ops of a body and the pure ops that compute their operands, in the order of the body.

    Raises: NotPossible if an operand is computed in the body by an op that is neither pure nor an
        allocation; with `anything` that is allowed.
    """
    found = set(wanted)
    pending = list(wanted)
    while pending:
        for inner in pending.pop().walk():
            for operand in inner.operands:
                op = operand.owner
                if not isinstance(op, Operation) or op.parent is not body or op in found:
                    continue
                if is_pure(op):
                    found.add(op)
                    pending.append(op)
                elif not anything and not isinstance(op, AllocOp):
                    raise NotPossible(f"an address depends on {op.name}")
    return tuple(op for op in body.ops if op in found)
