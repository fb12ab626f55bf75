"""The off-chip traffic of a program, counted in the IR without running a layer.

The level of IR is transfers in loops, before layers are outlined. Loops and branches are followed
with the numbers that they have at run time. Of all other ops only `dma` ops count:

    scf.for %z = %c0 to %c6 step %c1 {
      %t = dma.start weights %kernels to %tile channel 0 : memref<16x8x3x3xf32, ...> to ...
is 6 times 4608 bytes of weights. The emitted program counts the same numbers when it runs. Only
transfers in blocks differ: they move the bytes counted here if no block is zero, and else fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect import dma
from npu_dialect.attributes import LAYER
from npu_dialect.module_attributes import MODULE
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.maps import bytes_of, is_buffer_type, map_type, shape_of
from npu_dialect.walking import walk_kind
from npu_passes.support.block_runs import block_runs_of
from npu_plans.modules.traffic import Traffic
from npu_tools.shared.errors import UserError

TRANSFERS = (dma.StartOp, dma.ReadsOp, dma.WritesOp)

ARITHMETIC: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.MinSIOp: lambda a, b: min(a, b),
    arith.MaxSIOp: lambda a, b: max(a, b),
    arith.DivSIOp: lambda a, b: int(a / b),
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.RemSIOp: lambda a, b: a - b * int(a / b),
    arith.RemUIOp: lambda a, b: a % WORD % (b % WORD),
}
"""The ops on integers from which bounds and conditions may be computed."""

WORD = 2**64
"""The range of an index, for unsigned comparisons: negative numbers wrap around."""

COMPARISONS: Mapping[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
    6: lambda a, b: a % WORD < b % WORD,
    7: lambda a, b: a % WORD <= b % WORD,
    8: lambda a, b: a % WORD > b % WORD,
    9: lambda a, b: a % WORD >= b % WORD,
}
"""Predicates of `arith.cmpi`: signed ones, then unsigned ones."""


@dataclass(frozen=True)
class TransferTotal:
    """Bytes of maps and weights that one layer moves, and the number of its transfers."""

    bytes: int = 0
    transfers: int = 0


@dataclass(frozen=True)
class OffChip:
    """The traffic of a function: in total, by module of branches, and by layer name.

    Layers are in the order of their first transfers. `starts`: how often each transfer runs.
    """

    total: Traffic
    modules: Mapping[str, Traffic]
    layers: Mapping[str, TransferTotal]
    starts: Mapping[dma.StartOp, int]


def off_chip(function: Operation) -> OffChip | None:
    """Count the traffic of a function; None if it has no transfers.

    Raises: UserError if the bounds of a loop or the condition of a branch around a transfer cannot
    be computed, or if a transfer is inside another kind of op.
    """
    ops = [*walk_kind(function, *TRANSFERS)]
    if not ops:
        return None
    counter = Counter(frozenset(ancestor for op in ops for ancestor in ancestors(op)))
    for region in function.regions:
        for block in region.blocks:
            counter.count(block, {}, 1)
    modules: dict[str, Traffic] = {}
    layers: dict[str, TransferTotal] = {}
    whole = Traffic()
    for op, times in counter.times.items():
        moved = traffic_of(op, times)
        whole += moved
        if (name := MODULE.get(op)) is not None:
            modules[name] = modules.get(name, Traffic()) + moved
        if isinstance(op, dma.StartOp) and (name := LAYER.get(op)) is not None:
            before = layers.get(name, TransferTotal())
            layers[name] = TransferTotal(
                before.bytes + moved.overall_bytes, before.transfers + times
            )
    starts = {op: times for op, times in counter.times.items() if isinstance(op, dma.StartOp)}
    return OffChip(whole, modules, layers, starts)


def ancestors(op: Operation) -> list[Operation]:
    """An op and the ops that contain it, from the inside out."""
    found = [op]
    while (parent := found[-1].parent_op()) is not None:
        found.append(parent)
    return found


def traffic_of(op: Operation, times: int) -> Traffic:
    """The traffic of a `dma` op that runs `times` times; blocks and their index count in full."""
    if isinstance(op, dma.ReadsOp):
        return Traffic(feature_map_reads=times)
    if isinstance(op, dma.WritesOp):
        return Traffic(feature_map_writes=times)
    assert isinstance(op, dma.StartOp)
    type_ = op.target.type
    assert is_buffer_type(type_)
    size = bytes_of(type_)
    if op.block is not None:
        size += most_besides(op)
    size *= times
    if op.weights is not None:
        return Traffic(weight_bytes=size)
    if isinstance(type_.memory_space, DramSpace):
        return Traffic(feature_map_write_bytes=size)
    return Traffic(feature_map_read_bytes=size)


def most_besides(op: dma.StartOp) -> int:
    """The most bytes that a transfer in blocks moves besides those of its part.

    They are of the index and, for bit planes, the rest of runs that the part cuts.
    """
    blocks = block_runs_of(op, bytes_of(map_type(op.source)) // prod(shape_of(op.source)))
    return 0 if blocks is None else blocks.worst


@dataclass(frozen=True)
class Counter:
    """Counts in `times` how often each transfer runs.

    `moving` are the transfers and the ops that contain them.
    """

    moving: frozenset[Operation]
    times: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def count(self, block: Block, known: dict[SSAValue, int], times: int) -> None:
        """Count the transfers of a block that runs `times` times with the same `known` values.

        Raises: UserError if a bound or condition cannot be computed, or if a transfer is in an op
        other than a loop or branch.
        """
        for op in block.ops:
            if op not in self.moving:
                continue
            if isinstance(op, TRANSFERS):
                self.times[op] = self.times.get(op, 0) + times
            elif isinstance(op, scf.ForOp):
                self.follow_loop(op, known, times)
            elif isinstance(op, scf.IfOp):
                region = op.true_region if number(op.cond, known) else op.false_region
                for inner in region.blocks:
                    self.count(inner, known, times)
            else:
                raise UserError(f"expected transfers in loops and branches only, got {op.name}")

    def follow_loop(self, op: scf.ForOp, known: dict[SSAValue, int], times: int) -> None:
        """Count a loop's iterations: at once if they run the same transfers, else one by one."""
        bounds = (number(each, known) for each in (op.lb, op.ub, op.step))
        values = range(*bounds)
        if values and self.uniform(op):
            self.count(op.body.block, known, times * len(values))
            return
        for value in values:
            self.count(op.body.block, {**known, op.body.block.args[0]: value}, times)

    def uniform(self, op: scf.ForOp) -> bool:
        """Whether all bounds and conditions around transfers in the loop's body are constants."""
        deciding = [
            value
            for inner in op.body.walk()
            if inner in self.moving and isinstance(inner, scf.ForOp | scf.IfOp)
            for value in inner.operands
        ]
        return all(is_constant(value) for value in deciding)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is the result of `arith.constant`."""
    return isinstance(value.owner, arith.ConstantOp)


def number(value: SSAValue, known: Mapping[SSAValue, int]) -> int:
    """Compute an integer value; `known` holds the variables of the loops around it.

    Raises: UserError if it depends on an argument or on an op that is not index arithmetic.
    """
    if value in known:
        return known[value]
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return int(op.value.value.data)
    if isinstance(op, arith.CmpiOp):
        compare = COMPARISONS.get(op.predicate.value.data)
        if compare is not None:
            return compare(number(op.lhs, known), number(op.rhs, known))
    if isinstance(op, arith.SelectOp):
        chosen = op.lhs if number(op.cond, known) else op.rhs
        return number(chosen, known)
    if isinstance(op, Operation) and (compute := ARITHMETIC.get(type(op))) is not None:
        return compute(number(op.operands[0], known), number(op.operands[1], known))
    what = op.name if isinstance(op, Operation) else "an argument"
    raise UserError(f"expected loops around transfers with bounds that are known, got {what}")
