"""How many bytes the core reads of each constant in one inference: an analysis of loops.

    %w = memref.get_global @taps : memref<72xi32, #npu.flash>
    scf.for %y = %c0 to %c16 step %c1 {
      %x = memref.load %w[%i]                          @taps: 16 times 4 bytes

Level of IR: after `npu-lower-to-loops`. Loops are counted as `loop_work.py` does: those whose
counters decide how often others run, for each value; all others once, times their trips. A loop
whose bounds do not follow from constants, as over rows that arrive, counts as one trip. Of a branch
that depends on data, the side that reads more counts. What a caller passes to a function counts for
each of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type
from npu_dialect.walking import walk_kind
from npu_passes.analysis import loop_work
from npu_passes.analysis.index_values import result_of
from npu_passes.analysis.inlined_rows import with_inlined_rows
from npu_passes.analysis.views import root_of

Reads: TypeAlias = Counter["str | BlockArgument"]
"""Bytes by the symbol of a constant, or by the argument of a function."""

WORD_BYTES = 4
"""Bytes that `dsp.load_word` reads."""


def constant_reads(module: ModuleOp) -> Mapping[str, int]:
    """The bytes that one run of a program reads of each constant, by its symbol.

    A program are all functions that no other one calls.
    """
    module = with_inlined_rows(module)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    called = {op.callee.string_value() for op in walk_kind(module, func.CallOp)}
    reader = Reader(functions, loop_work.Counter(functions))
    total: Reads = Counter()
    for name in functions:
        if name not in called:
            total += reader.of_function(name)
    return {key: size for key, size in total.items() if isinstance(key, str)}


def times(reads: Reads, count: int) -> Reads:
    """The reads of something that runs `count` times."""
    return Counter({key: size * count for key, size in reads.items()})


@dataclass(frozen=True)
class Reader:
    """Counts the reads of functions, each once. `work` knows which values decide about loops."""

    functions: Mapping[str, func.FuncOp]
    work: loop_work.Counter
    _done: dict[str, Reads] = field(default_factory=dict[str, "Reads"])
    _plain: dict[Block, tuple[Reads, tuple[Operation, ...]]] = field(
        default_factory=dict[Block, "tuple[Reads, tuple[Operation, ...]]"]
    )

    def of_function(self, name: str) -> Reads:
        """The reads of one call of a function; none of a declaration."""
        if name not in self._done:
            self._done[name] = Counter()  # what a function that calls itself adds
            total: Reads = Counter()
            for block in self.functions[name].body.blocks if name in self.functions else ():
                total += self.of_block(block, {})
            self._done[name] = total
        return self._done[name]

    def of_block(self, block: Block, values: dict[SSAValue, int]) -> Reads:
        """The reads of one run of a block; `values` are the known integers."""
        here, ops = self.plain(block)
        total = Counter(here)
        for op in ops:
            if isinstance(op, scf.ForOp):
                total += self.of_loop(op, values)
            elif isinstance(op, func.CallOp):
                total += self.of_call(op)
            elif isinstance(op, scf.IfOp):
                total += self.of_branch(op, values)
            elif isinstance(op, mve.MulRunsOp):
                total += of_runs(op, values.get(op.rows, 1))
            elif (number := result_of(op, values.get)) is not None:
                values[op.results[0]] = number
        return total

    def plain(self, block: Block) -> tuple[Reads, tuple[Operation, ...]]:
        """The reads of the ops of a block that run once, and the ops that need a closer look."""
        if block not in self._plain:
            found: Reads = Counter()
            closer: list[Operation] = []
            for op in block.ops:
                if self.work.needs_a_look(op):
                    closer.append(op)
                if (read := read_by(op)) is not None:
                    found[read[0]] += read[1]
            self._plain[block] = found, tuple(closer)
        return self._plain[block]

    def of_loop(self, loop: scf.ForOp, values: dict[SSAValue, int]) -> Reads:
        """The reads of a loop."""
        low, high, step = (values.get(value) for value in (loop.lb, loop.ub, loop.step))
        body = loop.body.block
        if low is None or high is None or step is None or step < 1:
            return self.of_block(body, dict(values))
        trips = range(low, high, step)
        if not self.work.is_deciding(body.args[0]):
            return times(self.of_block(body, dict(values)), len(trips))
        total: Reads = Counter()
        for at in trips:
            total += self.of_block(body, {**values, body.args[0]: at})
        return total

    def of_branch(self, branch: scf.IfOp, values: dict[SSAValue, int]) -> Reads:
        """The reads of the side that is taken, or of the one that reads more."""
        condition, sides = values.get(branch.cond), list[Reads]()
        for region, taken in ((branch.true_region, True), (branch.false_region, False)):
            if condition is None or bool(condition) == taken:
                side: Reads = Counter()
                for block in region.blocks:
                    side += self.of_block(block, dict(values))
                sides.append(side)
        return max(sides, key=Counter[str | BlockArgument].total)

    def of_call(self, call: func.CallOp) -> Reads:
        """The reads of a call: what the function reads of an argument is read of what it gets."""
        name = call.callee.string_value()
        total: Reads = Counter()
        for key, size in self.of_function(name).items():
            passed = key
            if isinstance(key, BlockArgument):
                passed = constant_of(call.operands[key.index])
            if passed is not None:
                total[passed] += size
        return total


def of_runs(op: mve.MulRunsOp, rows: int) -> Reads:
    """The reads of the runs of some rows, and of first values."""
    own, found = op.numbers, Counter[str | BlockArgument]()
    sizes = [(op.memref, rows * op.bytes), (op.table, rows * own.words * WORD_BYTES)]
    if op.starts is not None:
        sizes.append((op.starts, own.filters * WORD_BYTES))
    for source, size in sizes:
        if (key := constant_of(source)) is not None:
            found[key] += size
    return found


def read_by(op: Operation) -> tuple[str | BlockArgument, int] | None:
    """What an op reads of a constant, or of a buffer that may be one, and how many bytes."""
    match op:
        case memref.LoadOp():
            source, size = op.memref, element_bytes(map_type(op.memref))
        case dsp.LoadWordOp() | dsp.LoadFloatsOp():
            source, size = op.memref, op.words * WORD_BYTES
        case dsp.CopyWordsOp():
            source, size = op.source, op.count * WORD_BYTES
        case mve.LoadOp():
            type_ = op.result.type
            assert isinstance(type_, VectorType)
            source = op.memref
            size = element_bytes(map_type(source)) * type_.element_count()
        case mve.MulRowsOp():
            source, size = op.memref, op.words * WORD_BYTES
        case memref.CopyOp():
            source, size = op.source, bytes_of(map_type(op.source))
        case _:
            return None
    found = constant_of(source)
    return None if found is None else (found, size)


def constant_of(value: SSAValue[Attribute]) -> str | BlockArgument | None:
    """The symbol of the constant that a buffer is a view of, or the argument; None for others."""
    root = root_of(value)
    if isinstance(root, BlockArgument):
        return root if isinstance(root.block.parent_op(), func.FuncOp) else None
    return root.owner.name_.string_value() if isinstance(root.owner, memref.GetGlobalOp) else None
