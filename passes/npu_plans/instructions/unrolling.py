"""Short loops as the C compiler unrolls them: copies of the body, with the counter as a number.

    for kx in 1 to 3: acc += x[kx] * w[kx]      ->      acc += x[1] * w[1]; acc += x[2] * w[2]

Compilers do so with -O2 if the code does not grow, as the counter and its addresses are gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from npu_plans.instructions.code import (
    Access,
    Block,
    Branch,
    Compute,
    Function,
    Loop,
    Step,
    steps_within,
)

MOST_STEPS = 10
"""The most ops of all copies together. Measured with gcc 12.2, which weighs them finer."""

CASTS = "trunci.i8 extsi.i32 extui.i32 index_cast.i32 index_cast.index index_cast.i16"
FREE = frozenset(f"arith.{name}" for name in CASTS.split())
"""Kinds of ops that become a part of a load, of a store, or of an address."""


def unrolled(function: Function) -> Function:
    """The function with its short loops unrolled, from the inside out."""
    for _ in range(3):
        unroller = Unroller(count(most_of(function) + 1))
        new = replace(function, body=unroller.block(function.body))
        if new == function:
            break
        function = new
    return function


def most_of(function: Function) -> int:
    """The largest number of a value."""
    found = [*function.parameters, *function.constants]
    for step in steps_within(function.body):
        match step:
            case Compute():
                found += (step.result, *step.operands)
            case Access():
                found += (step.root, step.value, *(value for value, _ in step.terms))
            case Loop():
                found += (step.index, *step.bounds)
                found += (n for each in step.carried for n in vars(each).values())
            case Branch():
                found += (step.condition, *step.results, *(n for y in step.yielded for n in y))
            case _:
                pass
    return max(found, default=0)


def copies(loop: Loop) -> int:
    """How many copies of its body replace a loop; 0 if it stays a loop."""
    if loop.numbers is None or not loop.body.times:
        return 0
    trips = len(loop.numbers)
    if trips <= 1:
        return trips
    if not all(isinstance(step, Compute | Access) for step in loop.body.steps):
        return 0
    steps = sum(not isinstance(s, Compute) or s.kind not in FREE for s in loop.body.steps)
    return trips if trips * steps <= MOST_STEPS else 0


@dataclass
class Unroller:
    """Replaces loops in the blocks of one function; `fresh` gives new numbers of values.

    `values` are values and what stands for them now, `numbers` the counters that are numbers now.
    """

    fresh: count[int]
    values: dict[int, int] = field(default_factory=dict[int, int])
    numbers: Mapping[int, int] = field(default_factory=dict[int, int])
    renames: bool = False

    def now(self, value: int) -> int:
        """What stands for a value."""
        return self.values.get(value, value)

    def new(self, value: int) -> int:
        """The number of a value that is computed: a new one in a copy of a loop."""
        if self.renames:
            self.values[value] = next(self.fresh)
        return self.now(value)

    def block(self, block: Block) -> Block:
        """A block whose short loops are unrolled."""
        inner = replace(self, values=dict(self.values))
        return replace(block, steps=tuple(s for step in block.steps for s in inner.steps(step)))

    def steps(self, step: Step) -> list[Step]:
        """What replaces a step."""
        match step:
            case Compute():
                operands = tuple(
                    self.now(each) for each in step.operands if each not in self.numbers
                )
                return [Compute(step.kind, operands, self.new(step.result))]
            case Access():
                return [self.access(step)]
            case Loop() if copies(step):
                return self.copied(step)
            case Loop():
                return [self.loop(step)]
            case Branch():
                sides = tuple(map(self.block, step.sides))
                yielded = tuple(tuple(map(self.now, each)) for each in step.yielded)
                return [Branch(self.now(step.condition), sides, yielded, step.results)]
            case _:
                return [step]

    def access(self, step: Access) -> Access:
        """A load or store with its address."""
        offset = step.offset + sum(
            factor * self.numbers.get(value, 0) for value, factor in step.terms
        )
        terms = ((self.now(v), factor) for v, factor in step.terms if v not in self.numbers)
        value = self.now(step.value) if step.writes else self.new(step.value)
        return replace(step, offset=offset, terms=tuple(sorted(terms)), value=value)

    def loop(self, step: Loop) -> Loop:
        """A loop that stays."""
        carried = tuple(replace(each, first=self.now(each.first)) for each in step.carried)
        bounds = tuple(self.now(each) for each in step.bounds if each not in self.numbers)
        return replace(step, bounds=bounds, carried=carried, body=self.block(step.body))

    def copied(self, step: Loop) -> list[Step]:
        """The copies of a loop's body."""
        found: list[Step] = []
        current = {each.argument: self.now(each.first) for each in step.carried}
        for number in step.numbers or ():
            numbers = {**self.numbers, step.index: number}
            body = Unroller(self.fresh, {**self.values, **current}, numbers, renames=True)
            found += (s for inner in step.body.steps for s in body.steps(inner))
            current = {each.argument: body.now(each.following) for each in step.carried}
        for each in step.carried:
            self.values[each.result] = current[each.argument]
        return found
