"""Reads a function as a program of the virtual clock: work, starts, waits and loops.

    %t = dma.start %rows to %a : ...                Start(0, bytes=4096, runs=3, owner="conv1")
    npu.conv2d ins(%a, ...) outs(%b : ...)    ->    Work(900, "conv1")
    dma.wait %t                                     Wait(0)

Level of IR: buffers and transfers, before layers become loops; `dma.start`, `memref.dma_start` and
`memref.copy` between on chip and off chip; `scf` and `affine` loops and branches; calls. Branches
are taken as the indices say. The iterations of a loop are read one by one only if something
depends on them. Tokens may be carried by loops. What cannot be counted raises `NotTimed`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.dma import StartOp, TokenType, WaitOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_dialect.walking import walk
from npu_passes.analysis.timed_ops import (
    ACCESSES,
    Moved,
    NotTimed,
    Task,
    is_free,
    is_off_chip,
    moved_between,
    moved_by,
    task_of,
    task_of_access,
)
from npu_passes.analysis.timed_values import (
    Known,
    Values,
    buffer_of,
    deciding_values,
    evaluated,
    holds,
    number,
)
from npu_plans.time.program import Body, Loop, Rename, Start, Step, Wait, Work
from npu_plans.time.rates import Rates

MOST_READ = 500_000
"""The most ops that are read, each iteration of a loop that decides something counted."""


@dataclass(frozen=True)
class TimedProgram:
    """The program of a function.

    `parts`: the ops of its block, each with its steps. `layers`: for each owner of its steps the
    first op that computes for it, or moves data for it if none does. The owner is the layer's name;
    a layer without one has a name of its own here, and transfers without one have the owner "".
    `elements`: the element types of the multiply-accumulates of each owner that has any. `works`:
    the cycles of each op that keeps the core busy; they differ only for a nest that moves elements.
    """

    body: Body
    parts: Sequence[tuple[Operation, Body]]
    layers: Mapping[str, Operation]
    elements: Mapping[str, AbstractSet[str]]
    works: Mapping[Operation, AbstractSet[int]]


def read_program(function: FuncOp, rates: Rates) -> TimedProgram:
    """The program of a function of a module, with all functions that it calls.

    Raises: NotTimed if it cannot be counted.
    """
    module = function.parent_op()
    functions = [function]
    if isinstance(module, ModuleOp):
        functions = [op for op in module.ops if isinstance(op, FuncOp)]
    deciding = deciding_values(module or function)
    reader = Reader(rates, {op.sym_name.data: op for op in functions}, deciding)
    parts = reader.parts(function)
    body = tuple(chain.from_iterable(steps for _, steps in parts))
    layers = {**reader.moving, **reader.computing}
    return TimedProgram(body, parts, layers, reader.elements, reader.works)


@dataclass
class Reader:
    """Reads blocks; equal bodies become one object, and equal ops one step."""

    rates: Rates
    functions: Mapping[str, FuncOp]
    deciding: frozenset[SSAValue]
    left: int = MOST_READ
    calling: list[str] = field(default_factory=list[str])
    bodies: dict[tuple[Hashable, ...], Body] = field(
        default_factory=dict[tuple[Hashable, ...], Body]
    )
    tokens: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    single: dict[Operation, Body] = field(default_factory=dict[Operation, Body])
    plain: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    moving: dict[str, Operation] = field(default_factory=dict[str, Operation])
    computing: dict[str, Operation] = field(default_factory=dict[str, Operation])
    elements: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    works: dict[Operation, set[int]] = field(default_factory=dict[Operation, set[int]])

    def parts(self, function: FuncOp) -> list[tuple[Operation, Body]]:
        """The ops of a function that nobody calls, each with its steps."""
        block = self.enter(function)
        values: Values = {}
        return [(op, self.op(op, values)) for op in block.ops]

    def function(self, op: FuncOp, values: Values) -> Body:
        """The program of a function; `values` are those of its arguments."""
        body = self.block(self.enter(op), values)
        self.calling.pop()
        return body

    def enter(self, op: FuncOp) -> Block:
        """The block of a function that begins to run.

        Raises: NotTimed if it has no body or more than one block, or calls itself.
        """
        name = op.sym_name.data
        if name in self.calling:
            raise NotTimed(f"@{name} calls itself")
        if len(op.body.blocks) != 1:
            raise NotTimed(f"expected @{name} to have a body of one block")
        self.calling.append(name)
        return op.body.block

    def block(self, block: Block, values: Values, tail: Sequence[Step] = ()) -> Body:
        """The program of a block, with steps behind it. `values` is extended."""
        steps: list[Step] = []
        for op in block.ops:
            self.left -= 1
            if self.left < 0:
                raise NotTimed(f"more than {MOST_READ} ops run")
            steps += self.op(op, values)
        return self.shared((*steps, *tail))

    def shared(self, body: Body) -> Body:
        """The one object for a body."""
        return self.bodies.setdefault(tuple(map(key_of, body)), body)

    def op(self, op: Operation, values: Values) -> Body:
        """The steps of an op."""
        if (known := self.single.get(op)) is not None:
            return known
        if (read := READERS.get(type(op))) is not None:
            return read(self, op, values)
        if op.regions and not is_computed_on_buffers(op):
            raise NotTimed(f"nobody says how often the body of {op.name} runs")
        found = self.single[op] = self.work(op)
        return found

    def work(self, op: Operation) -> Body:
        """The work of an op whose cycles are always the same."""
        task = task_of(op, self.rates)
        if task is None:
            return ()
        if not task.is_layer:
            return (self.moving_on_chip(op, task),)
        name = LAYER.get(op) or f"{op.name} #{len(self.computing)}"
        self.computing.setdefault(name, op)
        self.works.setdefault(op, set()).add(task.cycles(self.rates))
        if task.macs:
            self.elements.setdefault(name, set()).add(task.element)
        cycles = task.cycles(self.rates)
        return (Work(cycles, name, True, task.macs, task.bytes, task.waiting),)

    def moving_on_chip(self, op: Operation, task: Task) -> Work:
        """The work of reading and writing some bytes on chip."""
        cycles = task.cycles(self.rates)
        self.works.setdefault(op, set()).add(cycles)
        return Work(cycles, self.owner(op), False, 0, task.bytes, task.waiting)

    def owner(self, op: Operation) -> str:
        """The name of the layer that an op moves data for."""
        name = LAYER.get(op) or ""
        if name:
            self.moving.setdefault(name, op)
        return name

    # -- transfers ---------------------------------------------------------------------------

    def token(self, key: Hashable) -> int:
        """The number of a transfer that a value or a tag stands for."""
        return self.tokens.setdefault(key, len(self.tokens))

    def start(self, op: StartOp, values: Values) -> Body:
        """A start; it is the same each time."""
        moved = moved_by(op)
        step = Start(self.token(op.token), moved.bytes, moved.runs, self.owner(op))
        self.single[op] = (step,)
        return self.single[op]

    def wait(self, op: WaitOp, values: Values) -> Body:
        """A wait."""
        self.single[op] = (Wait(self.token(op.token)),)
        return self.single[op]

    def upstream_start(self, op: memref.DmaStartOp, values: Values) -> Body:
        """A `memref.dma_start`, which moves one run; its tag stands for it."""
        assert is_buffer_type(op.src.type)
        size = number(op.num_elements, values) * element_bytes(op.src.type)
        tag = self.tag(op.tag, op.tag_indices, values)
        return (Start(tag, size, 1, self.owner(op)),)

    def upstream_wait(self, op: memref.DmaWaitOp, values: Values) -> Body:
        """A `memref.dma_wait`."""
        return (Wait(self.tag(op.tag, op.tag_indices, values)),)

    def tag(self, buffer: SSAValue, indices: Sequence[SSAValue], values: Values) -> int:
        """The number of the transfer that an element of a buffer stands for."""
        place = tuple(number(each, values) for each in indices)
        return self.token((buffer_of(buffer, values), place))

    def copy(self, op: memref.CopyOp, values: Values) -> Body:
        """A copy: work on chip, or a transfer for which the core waits."""
        off_chip = [is_off_chip(each.type) for each in (op.source, op.destination)]
        if not self.rates.channels or not any(off_chip):
            return self.work(op)
        if all(off_chip):
            raise NotTimed("nobody says how long a copy from #npu.dram to #npu.dram takes")
        moved: Moved = moved_between(op.source, op.destination)
        token = self.token(op)
        return (Start(token, moved.bytes, moved.runs, self.owner(op)), Wait(token))

    # -- loops, branches, calls -----------------------------------------------------------------

    def trips(self, op: scf.ForOp | affine.ForOp, values: Values) -> range:
        """The indices of the iterations of a loop.

        Raises: NotTimed if they are not known.
        """
        if isinstance(op, scf.ForOp):
            low, high, step = (number(each, values) for each in (op.lb, op.ub, op.step))
        else:
            low = max(evaluated(op.lowerBoundMap.data, op.lowerBoundOperands, values))
            high = min(evaluated(op.upperBoundMap.data, op.upperBoundOperands, values))
            step = op.step.value.data
        if step < 1:
            raise NotTimed(f"expected a loop to have a step of at least 1, got {step}")
        return range(low, high, step)

    def loop(self, op: scf.ForOp | affine.ForOp, values: Values) -> Body:
        """A loop."""
        trips = self.trips(op, values)
        if self.is_plain(op):
            moved = self.plain_task(op, trips, values)
            step = self.moving_on_chip(op, moved)
            return (step,) if moved.bytes else ()
        inits = op.iter_args if isinstance(op, scf.ForOp) else op.inits
        body, runs = op.body.block, list[Body]()
        index, *carried = body.args
        yielded = body.last_op.operands if body.last_op is not None else ()
        entry, tail = self.rename(inits, carried), self.rename(yielded, carried)
        passed = self.passed(op, inits, values)
        alike = not self.deciding.intersection(body.args)
        for at in trips[:1] if alike else trips:
            inner: Values = {**values, index: at, **dict(zip(carried, passed, strict=True))}
            runs.append(self.block(body, inner, tail))
            passed = self.passed(op, yielded, inner)
        values |= dict(zip(op.results, passed, strict=True))
        return (*entry, *looped(runs, len(trips)), *self.rename(carried, op.results))

    def passed(
        self, op: scf.ForOp | affine.ForOp, sources: Sequence[SSAValue], values: Values
    ) -> list[Known]:
        """What a loop carries: numbers and buffers, where they decide anything."""
        pairs = zip(op.body.block.args[1:], op.results, strict=True)
        return [
            self.known(source, values) if self.deciding.intersection(pair) else None
            for source, pair in zip(sources, pairs, strict=True)
        ]

    def known(self, value: SSAValue, values: Values) -> Known:
        """The number of a value, or the buffer that it is a view of."""
        is_buffer = is_buffer_type(value.type)
        return buffer_of(value, values) if is_buffer else number(value, values)

    def rename(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> Body:
        """The step in which transfers get the tokens of other values."""
        pairs = [
            (self.token(one), self.token(other))
            for one, other in zip(old, new, strict=True)
            if isinstance(one.type, TokenType)
        ]
        return (Rename(tuple(pairs)),) if pairs else ()

    def is_plain(self, op: Operation) -> bool:
        """Whether a loop only moves elements on chip: a nest of loops, loads and stores."""
        if op not in self.plain:
            self.plain[op] = not op.results and all(
                isinstance(each, (scf.ForOp, affine.ForOp, *ACCESSES)) or is_free(each)
                for each in walk(op)
            )
        return self.plain[op]

    def plain_task(self, op: scf.ForOp | affine.ForOp, trips: range, values: Values) -> Task:
        """What a nest of loops moves on chip."""
        body, total = op.body.block, Task(0)
        alike = body.args[0] not in self.deciding
        for at in trips[:1] if alike else trips:
            self.left -= 1
            if self.left < 0:
                raise NotTimed(f"more than {MOST_READ} ops run")
            inner: Values = {**values, body.args[0]: at}
            for each in body.ops:
                total += self.plain_task_of(each, inner)
        return total.times(len(trips)) if alike else total

    def plain_task_of(self, op: Operation, values: Values) -> Task:
        """What an op of such a nest moves."""
        if isinstance(op, scf.ForOp | affine.ForOp):
            return self.plain_task(op, self.trips(op, values), values)
        return task_of_access(op, self.rates) if isinstance(op, ACCESSES) else Task(0)

    def scf_branch(self, op: scf.IfOp, values: Values) -> Body:
        """The side of a branch that is taken."""
        taken = op.true_region if number(op.cond, values) else op.false_region
        return self.branch(op, taken.blocks, values)

    def affine_branch(self, op: affine.IfOp, values: Values) -> Body:
        """The side of a branch of `affine` that is taken."""
        taken = op.then_region if holds(op, values) else op.else_region
        return self.branch(op, taken.blocks, values)

    def branch(self, op: Operation, blocks: Sequence[Block], values: Values) -> Body:
        """One side of a branch; its results are those that its block yields."""
        if not blocks:
            return ()
        body, last = self.block(blocks[0], values), blocks[0].last_op
        yielded = last.operands if last is not None and op.results else ()
        for result, value in zip(op.results, yielded, strict=True):
            if result in self.deciding:
                values[result] = self.known(value, values)
        return (*body, *self.rename(yielded, op.results))

    def call(self, op: CallOp, values: Values) -> Body:
        """The program of a function that is called."""
        name = op.callee.string_value()
        if name not in self.functions or not self.functions[name].body.blocks:
            raise NotTimed(f"nobody says how long @{name} takes")
        callee = self.functions[name]
        if any(isinstance(each.type, TokenType) for each in (*op.operands, *op.results)):
            raise NotTimed(f"a call of @{name} takes or gives transfers")
        pairs = zip(callee.args, op.operands, strict=True)
        inner: Values = {
            arg: self.known(each, values) for arg, each in pairs if arg in self.deciding
        }
        return self.function(callee, inner)


READERS: Mapping[type[Operation], Callable[[Reader, Any, Values], Body]] = {
    StartOp: Reader.start,
    WaitOp: Reader.wait,
    memref.DmaStartOp: Reader.upstream_start,
    memref.DmaWaitOp: Reader.upstream_wait,
    memref.CopyOp: Reader.copy,
    scf.ForOp: Reader.loop,
    scf.IfOp: Reader.scf_branch,
    affine.ForOp: Reader.loop,
    affine.IfOp: Reader.affine_branch,
    CallOp: Reader.call,
}
"""How ops are read whose steps depend on values, or that move data."""


def looped(runs: Sequence[Body], count: int) -> Iterator[Step]:
    """A loop of `count` iterations; one body if they are alike, else one for each of them."""
    if not any(runs) or not count:
        return
    if len(runs) == 1:
        yield Loop(count, runs[0])
        return
    most = Counter(map(id, runs)).most_common(1)[0][0]
    usual = next(body for body in runs if id(body) == most)
    cases = {index: body for index, body in enumerate(runs) if body is not usual}
    yield Loop(count, usual, cases)


def key_of(step: Step) -> Hashable:
    """What tells a step from others; bodies of loops are one object if they are equal."""
    if not isinstance(step, Loop):
        return step
    cases = tuple((index, id(body)) for index, body in step.cases.items())
    return (step.count, id(step.body), cases)
