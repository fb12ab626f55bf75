"""How much work a program of loops is: its ops, weighted, each as often as it runs. Pure reading.

Level of IR: after `npu-lower-to-loops`. The bounds of a loop are constants, or follow from the
counters of outer loops, as at the border of a padded map. Such a loop is counted for each value of
those counters; all others once, times their trips:

    scf.for %y = %c0 to %c28 step %c1 {            // 28 times
      %low = arith.maxsi %first, %c0               // follows from %y
      scf.for %k = %low to %c3 step %c1 {          // counted for each %y
        %0 = memref.load ...

The unit is an instruction of a Cortex-M4, roughly: enough to compare two programs of one network.
Of a branch that depends on data, the longer side counts. Addresses and constants cost nothing, as a
C compiler takes most of them out of loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import SELDOM
from npu_dialect.mve import MulRowsOp, MulRunsOp
from npu_dialect.walking import walk
from npu_passes.analysis.index_values import result_of
from npu_passes.analysis.inlined_rows import with_inlined_rows

WEIGHTS: Mapping[str, float] = {
    "memref.load": 1,
    "memref.store": 1,
    "arith.muli": 1,
    "arith.addi": 1,
    "arith.subi": 1,
    "arith.cmpi": 1,
    "arith.select": 1,
    "arith.minsi": 2,
    "arith.maxsi": 2,
    "arith.sitofp": 2,
    "arith.fptosi": 2,
    "arith.mulf": 1,
    "arith.addf": 1,
    "arith.subf": 1,
    "arith.cmpf": 2,
    "arith.maximumf": 3,
    "arith.minimumf": 3,
    "arith.divf": 1,
    "arith.ori": 1,
    "arith.xori": 1,
    "dsp.smlad": 1,
    "dsp.smla": 1,
    "dsp.load_word": 1,
    "dsp.load_pair": 1,
    "dsp.load_floats": 2,
    "dsp.store_word": 1,
    "dsp.store_floats": 2,
    "dsp.sxtb16": 1,
    "dsp.sxtab16": 1,
    "dsp.round": 3,
    "dsp.scale_bytes": 11,
    "dsp.scale_pair": 8,
    "dsp.usat": 1,
    "dsp.ssat": 1,
}
"""Instructions of an op. Assumptions: one for each op that a Cortex-M4 has an instruction for, by
the ARMv7E-M manual; two where it also moves between registers of integers and floats, or sets
flags. Other ops of `arith` on integers that are no addresses count as `OTHER`."""
OTHER = 1.0
"""Instructions of an op of `arith`, `math` or `mve` that is not in `WEIGHTS`."""
FREE = frozenset(
    {"arith.constant", "arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci"}
)
"""Ops that become a part of a load, of a store, or of an address."""
STEP = 2.0
"""Instructions of one trip of a loop: count down, branch."""
SHORT = 8
"""An innermost loop of at most so many trips has no steps. Assumption: C compilers unroll it."""
ROW = 3.0
"""Instructions that move the pointers of runs to the next row, and count."""
CALL = 10.0
"""Instructions of a call: arguments, saved registers, return."""


class UnknownWork(Exception):
    """A loop whose number of trips the IR does not tell."""


def work_of(module: ModuleOp) -> float:
    """The work of one run of a program: of all functions that no other one calls.

    Raises: UnknownWork for a loop whose bounds do not follow from constants and outer loops.
    """
    module = with_inlined_rows(module)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    called = {op.callee.string_value() for op in walk(module) if isinstance(op, func.CallOp)}
    counter = Counter(functions)
    return sum(counter.of_function(name) for name in functions if name not in called)


@dataclass(frozen=True)
class Counter:
    """Counts the work of functions, each once."""

    functions: Mapping[str, func.FuncOp]
    _done: dict[str, float] = field(default_factory=dict[str, float])
    _deciding: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _plain: dict[Block, tuple[float, tuple[Operation, ...]]] = field(
        default_factory=dict[Block, tuple[float, tuple[Operation, ...]]]
    )

    def of_function(self, name: str) -> float:
        """The work of one call of a function; 0 for a declaration."""
        if name not in self._done:
            self._done[name] = 0.0  # what a function that calls itself adds
            body = self.functions[name].body.blocks if name in self.functions else ()
            self._done[name] = sum(self.of_block(block, {}) for block in body)
        return self._done[name]

    def of_block(self, block: Block, values: dict[SSAValue, int]) -> float:
        """The work of one run of a block; `values` are the known integers."""
        total, ops = self.plain(block)
        for op in ops:
            if isinstance(op, scf.ForOp):
                total += self.of_loop(op, values)
            elif isinstance(op, func.CallOp):
                total += CALL + self.of_function(op.callee.string_value())
            elif isinstance(op, scf.IfOp):
                total += self.of_branch(op, values)
            elif isinstance(op, MulRunsOp):
                total += of_runs(op, values.get(op.rows))
            elif op.regions:
                raise UnknownWork(f"expected loops with constant bounds, got {op.name}")
            elif (number := result_of(op, values.get)) is not None:
                values[op.results[0]] = number
        return total

    def plain(self, block: Block) -> tuple[float, tuple[Operation, ...]]:
        """The work of the ops of a block that run once, and the ops that need a closer look."""
        if block not in self._plain:
            ops = tuple(block.ops)
            closer = tuple(filter(self.needs_a_look, ops))
            self._plain[block] = sum(map(weight, ops)), closer
        return self._plain[block]

    def needs_a_look(self, op: Operation) -> bool:
        """Whether what an op does depends on values, or other values on it."""
        return bool(op.regions) or isinstance(op, func.CallOp | MulRunsOp) or self.decides(op)

    def decides(self, op: Operation) -> bool:
        """Whether a bound or a condition follows from a result of an op."""
        return any(self.is_deciding(value) for value in op.results)

    def is_deciding(self, value: SSAValue) -> bool:
        """Whether a bound of a loop or the condition of a branch follows from a value."""
        if value not in self._deciding:
            self._deciding[value] = False
            self._deciding[value] = any(
                isinstance(use.operation, scf.IfOp)
                or (isinstance(use.operation, scf.ForOp) and use.index < 3)
                or (isinstance(use.operation, MulRunsOp) and use.operation.rows is value)
                or (not use.operation.regions and self.decides(use.operation))
                for use in value.uses
            )
        return self._deciding[value]

    def of_loop(self, loop: scf.ForOp, values: dict[SSAValue, int]) -> float:
        """The work of a loop."""
        low, high, step = (values.get(value) for value in (loop.lb, loop.ub, loop.step))
        if low is None or high is None or step is None or step < 1:
            raise UnknownWork("expected loops with bounds that follow from constants")
        trips = range(low, high, step)
        index = loop.body.block.args[0]
        body = loop.body.block
        is_short = len(trips) <= SHORT and not any(op.regions for op in body.ops)
        once = 0.0 if is_short else STEP
        if not self.is_deciding(index):
            return len(trips) * (once + self.of_block(body, dict(values)))
        return sum(once + self.of_block(body, {**values, index: at}) for at in trips)

    def of_branch(self, branch: scf.IfOp, values: dict[SSAValue, int]) -> float:
        """The work of the side that is taken, or of the longer one."""
        condition = 0 if SELDOM.is_on(branch) else values.get(branch.cond)
        sides = [
            sum(self.of_block(block, dict(values)) for block in region.blocks)
            for region, taken in ((branch.true_region, 1), (branch.false_region, 0))
            if condition is None or bool(condition) == bool(taken)
        ]
        return STEP + max(sides)


def of_runs(op: MulRunsOp, rows: int | None) -> float:
    """The instructions of runs: of each row, loads, products, and what moves its pointers."""
    if rows is None:
        raise UnknownWork("expected a number of rows that follows from constants")
    own, pixels = op.numbers, len(op.sums)
    vector = own.filters * (1 + pixels) + pixels
    return rows * (own.row_vectors * vector + ROW) + 4 * pixels


def weight(op: Operation) -> float:
    """The instructions of one op, without what is inside of it."""
    room = op.name.partition(".")[0]
    if (
        isinstance(op, MulRunsOp)
        or op.name in FREE
        or (room == "arith" and isinstance(op.results[0].type, IndexType))
    ):
        return 0.0
    if isinstance(op, arith.MulfOp) and all(
        isinstance(use.operation, arith.AddfOp) for use in op.result.uses
    ):
        return 0.0  # one instruction multiplies and adds
    if isinstance(op, MulRowsOp):
        return op.count * (op.vectors * (1 + len(op.sums)) + len(op.sums) / 2)
    return WEIGHTS.get(op.name, OTHER if room in ("arith", "math", "mve") else 0.0)
