"""The values of a function by the registers that hold them, and those that find no register."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from npu_plans.instructions.code import (
    Access,
    Block,
    Branch,
    Compute,
    Fence,
    Function,
    Loop,
    Step,
    steps_within,
)
from npu_plans.instructions.registers import Line, Spills, spills
from npu_plans.instructions.unrolling import FREE

Kind: TypeAlias = Literal["integer", "float", "flag"]

Early: TypeAlias = Literal["loads", "words"]
"""What a compiler moves to the front of straight-line code: all loads, or the loads of packed words
of bytes and what unpacks them."""

WORD_BYTES = 4

UNPACKS = ("arith.xori.i32", "dsp.sxtb16.i32", "dsp.sxtab16.i32")
"""Kinds of ops that unpack the bytes of a word."""

SUMS = {"arith.muli.i32": "arith.addi.i32", "arith.mulf.f32": "arith.addf.f32"}
"""Kinds of products, and the kinds of sums that they may become a part of."""


@dataclass
class Values:
    """The values of a function: who reads them, what they are, which are the same."""

    kinds: dict[int, Kind] = field(default_factory=dict[int, Kind])
    readers: defaultdict[int, list[Step]] = field(default_factory=lambda: defaultdict(list))
    makers: dict[int, Compute] = field(default_factory=dict[int, Compute])
    same: dict[int, int] = field(default_factory=dict[int, int])

    @staticmethod
    def of(function: Function, *, has_floats: bool) -> Values:
        """The values of a function; `has_floats`: floats have registers of their own."""
        found = Values()
        steps = list(steps_within(function.body))
        for step in steps:
            match step:
                case Compute():
                    found.makers[step.result] = step
                    found.read(step, *step.operands)
                    is_float = has_floats and step.kind.endswith("f32")
                    flag = step.kind.endswith("i1")
                    found.kinds[step.result] = (
                        "float" if is_float else "flag" if flag else "integer"
                    )
                case Access(writes=True):
                    found.read(step, step.value)
                case Access():
                    is_float = has_floats and step.element == "f32"
                    found.kinds[step.value] = "float" if is_float else "integer"
                case Loop():
                    found.read(
                        step, *(n for each in step.carried for n in (each.first, each.following))
                    )
                case Branch():
                    found.read(step, *(value for side in step.yielded for value in side))
                case _:
                    pass
        for step in steps:
            found.name_results(step)
        return found

    def name_results(self, step: Step) -> None:
        """Note the kinds of what a loop or branch gives."""
        if isinstance(step, Loop):
            for each in step.carried:
                kind = self.kinds.get(each.following) or self.kind(each.first)
                self.kinds.setdefault(each.argument, kind)
                self.kinds.setdefault(each.result, kind)
        elif isinstance(step, Branch):
            for result, value in zip(step.results, step.yielded[0], strict=True):
                self.kinds.setdefault(result, self.kind(value))

    def read(self, step: Step, *values: int) -> None:
        """Note that a step reads values."""
        for value in values:
            self.readers[value].append(step)

    def kind(self, value: int) -> Kind:
        """The kind of a value."""
        return self.kinds.get(value, "integer")

    def unify(self, value: int, other: int) -> None:
        """Note that a value is another one."""
        self.same[value] = other

    def now(self, value: int) -> int:
        """The value itself, or the one that it is the same as."""
        while value in self.same:
            value = self.same[value]
        return value

    def is_only_added(self, step: Compute) -> bool:
        """Whether an op is a product that only sums read; of integers, only one sum."""
        readers = self.readers[step.result]
        sums = [
            each
            for each in readers
            if isinstance(each, Compute) and each.kind == SUMS.get(step.kind)
        ]
        most = 1 if step.kind == "arith.muli.i32" else len(readers)
        return bool(sums) and len(sums) == len(readers) <= most

    def copies_sum(self, step: Compute) -> bool:
        """Whether an op adds a product to a sum that is needed again, and so must be copied."""
        if step.kind != "arith.addf.f32":
            return False
        products = [
            each
            for each in step.operands
            if each in self.makers and self.makers[each].kind == "arith.mulf.f32"
        ]
        others = [each for each in step.operands if each not in products[:1]]
        return bool(products) and any(len(self.readers[each]) > 1 for each in others)


@dataclass(frozen=True)
class Pressure:
    """Counts what finds no register of a core."""

    values: Values
    integer_registers: int
    float_registers: int
    early: Early
    """What the compiler moves to the front, as far as nothing keeps the order."""

    def of(
        self, block: Block, loop: Loop | None, hoisted: Collection[int]
    ) -> Mapping[Kind, Spills]:
        """What goes to the stack in one run of a block, by the kind of registers.

        `hoisted` are the values that are loaded in front of the loop of which it is the body.
        """
        found: dict[Kind, Spills] = {}
        kinds: tuple[tuple[Kind, int], ...] = (
            ("integer", self.integer_registers),
            ("float", self.float_registers),
        )
        for kind, registers in kinds:
            if registers and (lines := self.lines(block, kind, hoisted)):
                found[kind] = self.counted(lines, loop, kind, registers)
        return found

    def counted(self, lines: list[Line], loop: Loop | None, kind: Kind, registers: int) -> Spills:
        """The stores and loads of lines that use one kind of registers."""
        made: set[object] = set()
        before: dict[object, None] = {}
        for line in lines:
            before.update((value, None) for value in line.reads if value not in made)
            if line.makes is not None:
                made.add(line.makes)
        if loop is None:
            return spills(lines, registers, before, ())
        arguments = {each.argument for each in loop.carried}
        following = {self.values.now(each.following) for each in loop.carried}
        after = {value for value in following if self.values.kinds.get(value) == kind}
        constant = before.keys() - arguments
        return spills(lines, registers, before, after | constant, constant)

    def lines(self, block: Block, kind: Kind, hoisted: Collection[int]) -> list[Line]:
        """What the steps of a block do with one kind of registers, without loops and branches."""
        found: list[Line] = []
        front = 0
        words: set[int] = set()
        for step in block.steps:
            match step:
                case Loop() | Branch() | Fence():
                    front = len(found)
                    continue
                case Compute() if step.kind in FREE:
                    if step.operands:
                        self.values.unify(step.result, step.operands[0])
                    continue
                case Compute():
                    reads = tuple(dict.fromkeys(self.held(step.operands, kind)))
                    makes = step.result if self.values.kinds.get(step.result) == kind else None
                case Access():
                    known = step.value in self.values.same or step.value in hoisted
                    if known and not step.writes:
                        continue
                    pointer = (("pointer", step.root, step.terms),) if kind == "integer" else ()
                    own = self.values.kinds.get(self.values.now(step.value)) == kind
                    reads = (
                        *pointer,
                        *((self.values.now(step.value),) if step.writes and own else ()),
                    )
                    makes = step.value if own and not step.writes else None
                case _:
                    continue
            if reads or makes is not None:
                moves = self.moves(step, words)
                found.insert(front if moves else len(found), Line(reads, makes))
                front += moves
        return found

    def moves(self, step: Compute | Access, words: set[int]) -> bool:
        """Whether the compiler moves a step to the front; notes the `words` that are loaded."""
        if isinstance(step, Compute):
            return step.kind in UNPACKS and any(self.values.now(v) in words for v in step.operands)
        is_word = self.early == "words" and step.element == "i8" and step.size == WORD_BYTES
        if step.writes or not (is_word or self.early == "loads"):
            return False
        if is_word:
            words.add(step.value)
        return True

    def held(self, values: tuple[int, ...], kind: Kind) -> list[int]:
        """The values that stand in registers of a kind."""
        now = map(self.values.now, values)
        return [value for value in now if self.values.kinds.get(value) == kind]
