"""Lower recurrent layers to loops: over time, sequences, and blocks of units.

The output holds all states, so a step reads the state before it from there. The first step reads
the row that the last step will write: the initial state is copied there first.

    scf.for %t = %c0 to %c7 step %c1 iter_args(%before = %c6) -> (index) {
      ...                              // reads %out[%before, ...], writes %out[%t, ...]
      scf.yield %t
    }

A layer of one step reads its operand directly. Without initial state, it has no products at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.enums import Cell
from npu_dialect.npu.layers.recurrent import RecurrentOp
from npu_passes.lowering.functions import Step, element_step
from npu_passes.lowering.lower_matmul import STRAIGHT, blocks
from npu_passes.support.common import LoopOptions, activate, for_each
from npu_passes.support.loop_builder import Index, LoopBuilder

MOST_UNITS = 4
"""The most units that share each load of a state."""

Unit = Callable[[Index, Sequence[SSAValue]], None]
"""Builds a state of one unit from its sums."""


def lower_recurrent(b: LoopBuilder, op: RecurrentOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of a recurrent layer."""
    own = op.steps
    if op.steps == 1:
        run_step(b, op, out, options, Moment(0, States(op.state), States(op.cell_state), own))
        return
    first, last = (0, op.steps - 1) if op.reverse is None else (op.steps - 1, 0)
    copy_states(b, op, out, last, op.state)
    if op.kind == Cell.LSTM:
        copy_states(b, op, out, own, op.cell_state)

    def step(index: Index, carried: Sequence[SSAValue]) -> list[SSAValue]:
        time = index if op.reverse is None else b.sub(first, index, "t")
        before, cells = States(out, (carried[0],)), States(out, (own,))
        run_step(b, op, out, options, Moment(time, before, cells, own))
        return [b.value(time)]

    b.loop(0, op.steps, step, [b.value(last)], hint="t", carry="before")


@dataclass(frozen=True)
class States:
    """States [B, H]: a buffer with the indices in front of B, H; zeros if there is no buffer."""

    buffer: SSAValue | None
    row: tuple[Index, ...] = ()

    def load(self, b: LoopBuilder, sequence: Index, unit: Index, hint: str) -> SSAValue:
        """One element."""
        if self.buffer is None:
            return b.real(0.0)
        return b.load(self.buffer, (*self.row, sequence, unit), hint)


@dataclass(frozen=True)
class Moment:
    """A step: its row, the states and cell states before it, the row behind all states."""

    time: Index
    before: States
    cells: States
    own: int


def copy_states(
    b: LoopBuilder, op: RecurrentOp, out: SSAValue, row: int, states: SSAValue | None
) -> None:
    """Copy states, or zeros, into a row of the output."""
    source = States(states)

    def one(at: tuple[Index, ...]) -> None:
        b.store(source.load(b, at[0], at[1], "h"), out, (row, *at))

    for_each(b, (op.batch, op.units), one, ("b", "j"))


def run_step(
    b: LoopBuilder, op: RecurrentOp, out: SSAValue, options: LoopOptions, moment: Moment
) -> None:
    """Build one step of all sequences."""
    functions = [element_step(b, op, each) for each in op.activations]

    def one(at: tuple[Index, ...]) -> None:
        line = Line(b, op, out, options, moment, at[0], functions)
        {Cell.RNN: line.rnn, Cell.GRU: line.gru, Cell.LSTM: line.lstm}[op.kind]()

    for_each(b, (op.batch,), one, ("b",))


@dataclass(frozen=True)
class Line:
    """Builds one step of one sequence."""

    b: LoopBuilder
    op: RecurrentOp
    out: SSAValue
    options: LoopOptions
    moment: Moment
    sequence: Index
    functions: Sequence[Step]

    def rnn(self) -> None:
        """h' = f(sum)."""
        self.units([((0,), self.moment.before)], lambda j, s: self.put(j, self.function(0, s[0])))

    def lstm(self) -> None:
        """c' = f * c + i * g(sum) and h' = o * h(c'); the gates may read the cell state."""
        b, own = self.b, (self.moment.own, self.sequence)

        def unit(j: Index, sums: Sequence[SSAValue]) -> None:
            before = self.moment.cells.load(b, self.sequence, j, "c")
            share = self.function(0, self.peep(0, j, sums[0], before))
            if self.op.input_forget is None:
                kept = self.function(0, self.peep(2, j, sums[2], before))
            else:
                kept = b.subf(b.real(1.0), share)
            cell = b.mac(b.mulf(kept, before), share, self.function(1, sums[3]), "c")
            b.store(cell, self.out, (*own, j))
            gate = self.function(0, self.peep(1, j, sums[1], cell))
            self.put(j, b.mulf(gate, self.functions[2](cell, 0)))

        self.units([((0, 1, 2, 3), self.moment.before)], unit)

    def gru(self) -> None:
        """h' = (1 - z) * g(sum) + z * h; the reset gate r scales h, or the product with h."""
        b, before = self.b, self.moment.before
        own = (self.moment.own, self.sequence)

        def scaled(j: Index, sums: Sequence[SSAValue]) -> None:
            hidden = b.mac(self.gate(2, j), self.function(0, sums[1]), sums[2])
            self.mix(j, sums[0], hidden)

        def reset(j: Index, sums: Sequence[SSAValue]) -> None:
            state = before.load(b, self.sequence, j, "h")
            b.store(b.mulf(self.function(0, sums[0]), state), self.out, (*own, j))

        if self.op.bias is not None:
            self.units([((0, 1, 2), before)], scaled)
            return
        self.units([((1,), before)], reset)
        products = States(None if before.buffer is None else self.out, own[:1])
        self.units([((0,), before), ((2,), products)], lambda j, sums: self.mix(j, *sums))

    def mix(self, j: Index, update: SSAValue, hidden: SSAValue) -> None:
        """Store (1 - z) * g(hidden) + z * h."""
        b, gate = self.b, self.function(0, update)
        state = self.moment.before.load(b, self.sequence, j, "h")
        rest = b.mulf(b.subf(b.real(1.0), gate), self.function(1, hidden))
        self.put(j, b.mac(rest, gate, state, "h"))

    def function(self, number: int, value: SSAValue) -> SSAValue:
        """Function f, g or h, by its number, of a bounded value."""
        return self.functions[number](activate(self.b, value, self.op.bound), 0)

    def peep(self, number: int, j: Index, value: SSAValue, cell: SSAValue) -> SSAValue:
        """The sum of a gate, plus the cell state times its peephole."""
        b, factors = self.b, self.op.peepholes
        if factors is None:
            return value
        factor = b.load(factors, (b.add(j, number * self.op.units),), "p")
        return b.mac(value, factor, cell)

    def gate(self, number: int, j: Index) -> SSAValue:
        """What the inputs give a gate of a unit."""
        column = self.b.add(j, number * self.op.units)
        return self.b.load(self.op.gates, (self.moment.time, self.sequence, column), "g")

    def put(self, j: Index, value: SSAValue) -> None:
        """Store the state of a unit."""
        self.b.store(value, self.out, (self.moment.time, self.sequence, j))

    def units(self, groups: Sequence[tuple[Sequence[int], States]], unit: Unit) -> None:
        """Build all units, in blocks; `groups` are gates, and the states that they multiply."""
        b, budget = self.b, max(1, self.options.registers // 4)
        most = max(1, budget // max(len(gates) for gates, _ in groups))
        size = min(most, MOST_UNITS, self.op.units)

        def block(start: Index, count: int) -> None:
            parts = [self.sums(gates, states, start, count) for gates, states in groups]
            for offset in range(count):
                unit(b.add(start, offset), [sum for part in parts for sum in part[offset]])

        blocks(b, self.op.units, size, "j", block)

    def sums(
        self, gates: Sequence[int], states: States, start: Index, count: int
    ) -> list[list[SSAValue]]:
        """The sums of some gates of a block of units, a list for each unit.

        A sum starts from what the inputs give; that of a product to scale from its bias.
        """
        b, depth, bias = self.b, self.op.units, self.op.bias
        total = [
            b.load(bias, (unit,), "bias")
            if gate == 2 and bias is not None
            else self.gate(gate, unit)
            for unit in (b.add(start, offset) for offset in range(count))
            for gate in gates
        ]
        if states.buffer is not None:
            width = run_length(depth, min(STRAIGHT, self.options.unroll) // len(total))
            even = depth // width * width

            def some(k: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
                return self.products(gates, states, (start, count), (k, width), sums)

            total = list(b.loop(0, even, some, total, step=width, hint="k", carry="acc"))
            if even < depth:
                rest = (even, depth - even)
                total = self.products(gates, states, (start, count), rest, total)
        return [total[first : first + len(gates)] for first in range(0, len(total), len(gates))]

    def products(
        self,
        gates: Sequence[int],
        states: States,
        block: tuple[Index, int],
        depth: tuple[Index, int],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add the products along `depth` to the sums of a block; both are a start and a number."""
        b, (start, count), (k, width) = self.b, block, depth
        assert states.buffer is not None
        at, row = (*states.row, self.sequence, k), len(states.row) + 1
        before = b.window(states.buffer, at, (*[1] * row, width), (row,), "before")
        weights = [
            b.window(
                self.op.weight,
                (b.add(start, gate * self.op.units), k),
                (count, width),
                (0, 1),
                "weights",
            )
            for gate in gates
        ]
        current = list(sums)
        for step in range(width):
            value = b.load(before, (step,), "x")
            for index, total in enumerate(current):
                unit, gate = divmod(index, len(gates))
                weight = b.load(weights[gate], (unit, step), "w")
                current[index] = b.mac(total, value, weight)
        return current


def run_length(depth: int, most: int) -> int:
    """How many products of `depth` one iteration adds, at most `most`: if possible, a divisor."""
    most = max(1, min(most, depth))
    exact = max(width for width in range(1, most + 1) if depth % width == 0)
    return exact if 2 * exact > most else most
