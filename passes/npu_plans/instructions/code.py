"""A program of loops as plain data: what a C compiler sees of it, with how often each block runs.

Values are numbered, each function anew. An index that is a sum of multiples of loop counters has no
step of its own: it stands in the addresses that are computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Terms: TypeAlias = tuple[tuple[int, int], ...]
"""A sum of values, each times a number, in the order of the values."""

FLOATS = "dsp.load_floats."
"""The beginning of the kind of a float that is loaded with the one in front of it."""


@dataclass(frozen=True)
class Compute:
    """An op without effects: `kind` is its name and type, such as `arith.addf.f32`."""

    kind: str
    operands: tuple[int, ...]
    result: int


@dataclass(frozen=True)
class Access:
    """A load or store of `size` bytes at `root` + `terms` + `offset`; `value` is what moves.

    All are in bytes. `element` is the type of an element: `i8`.
    """

    root: int
    terms: Terms
    offset: int
    size: int
    element: str
    value: int
    writes: bool


@dataclass(frozen=True)
class Copy:
    """A copy of `size` bytes, by the C library."""

    size: int


@dataclass(frozen=True)
class Fence:
    """A place that no load and no store may cross."""


@dataclass(frozen=True)
class Carried:
    """A value that a loop carries: the first one, the argument, the next one, the result."""

    first: int
    argument: int
    following: int
    result: int


@dataclass(frozen=True)
class Loop:
    """A loop over the counter `index`.

    `numbers` are those of the counter, None if a bound varies; then `bounds` are the values from
    which it follows.
    """

    index: int
    numbers: range | None
    bounds: tuple[int, ...]
    carried: tuple[Carried, ...]
    body: Block


@dataclass(frozen=True)
class Branch:
    """A branch on a condition. `yielded` are the values of each side that become `results`."""

    condition: int
    sides: tuple[Block, ...]
    yielded: tuple[tuple[int, ...], ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A call of another function; `roots` are the buffers below its arguments, or the arguments.

    `layer` is its place among the calls that run layers; None if it runs none. `zeros` are the
    shares of zeros in the first arguments; None if nobody has measured them.
    """

    callee: str
    roots: tuple[int, ...]
    layer: int | None
    zeros: tuple[float, ...] | None = None


Step: TypeAlias = Compute | Access | Copy | Fence | Loop | Branch | Call


@dataclass(frozen=True)
class Block:
    """Steps that run one after another, `times` in one run of the function around it."""

    steps: tuple[Step, ...]
    times: float


@dataclass(frozen=True)
class Function:
    """A function: its arguments, its body, and its constants with their types and values as text.

    `i32 128 : i32` is a constant of type i32.
    """

    name: str
    parameters: tuple[int, ...]
    body: Block
    constants: Mapping[int, str]

    def is_constant(self, value: int) -> bool:
        """Whether a value is a constant that is no index."""
        return not self.constants.get(value, "index").startswith("index")


def steps_within(block: Block) -> Iterator[Step]:
    """All steps of a block and of the blocks inside it, in their order."""
    for step in block.steps:
        yield step
        for inner in blocks_of(step):
            yield from steps_within(inner)


def has_float_loads(function: Function) -> bool:
    """Whether a function loads several floats in one instruction."""
    steps = steps_within(function.body)
    return any(isinstance(step, Compute) and step.kind.startswith(FLOATS) for step in steps)


def blocks_of(step: Step) -> tuple[Block, ...]:
    """The blocks of a loop or branch."""
    match step:
        case Loop():
            return (step.body,)
        case Branch():
            return step.sides
        case _:
            return ()


def calls_of(block: Block) -> Iterator[tuple[float, Call]]:
    """The calls of a block and of the blocks inside it, each with how often it runs."""
    for step in block.steps:
        if isinstance(step, Call):
            yield block.times, step
        for inner in blocks_of(step):
            yield from calls_of(inner)


def is_innermost(block: Block) -> bool:
    """Whether a block has no loops inside."""
    return not any(isinstance(step, Loop) for step in steps_within(block))
