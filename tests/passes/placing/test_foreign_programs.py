"""Programs that other compilers could write, planned in one poisoned arena, compute the same.

The programs are random: buffers of memref.alloc and sram.alloc in loops and branches are passed on
by views, casts, calls, loop arguments and results of branches. Each buffer is first written as a
whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function

KIND = "memref<4xf32, #npu.sram>"
SQUARE = "memref<2x2xf32, #npu.sram>"
PAIR = "memref<2xf32, strided<[1], offset: 2>, #npu.sram>"

PROGRAM = """\
func.func private @other(%one: {kind}, %two: {kind}) -> {kind} {{
  npu.relu ins(%one : {kind}) outs(%one : {kind})
  func.return %two : {kind}
}}
func.func @f(%x: {kind} {{sram.input}}, %y: {kind} {{sram.input}}, %out: {kind} {{sram.output}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
{body}
  func.return
}}
"""


@dataclass
class Program:
    """A program under construction; `lines` are the ops so far."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def fresh(self) -> str:
        """A new name."""
        self.names += 1
        return f"%v{self.names}"

    def say(self, line: str) -> None:
        """Append an op."""
        self.lines.append(f"  {line}")

    def block(self, scope: list[str], depth: int, most: int) -> list[str]:
        """Append a few ops; returns the buffers that are visible at the end."""
        scope = list(scope)
        for _ in range(self.random.randint(1, most)):
            steps = [self.alloc, self.alloc, self.sum, self.sum, self.view, self.layer, self.call]
            steps += [self.loop, self.branch] if depth else []
            scope += self.random.choice(steps)(scope, depth)
        return scope

    def pick(self, scope: list[str], count: int) -> list[str]:
        """Some buffers; later ones are more likely."""
        return [self.random.choice(scope[-6:]) for _ in range(count)]

    def alloc(self, scope: list[str], _: int) -> list[str]:
        """Allocate a buffer, and fill it from another one."""
        name, (source,) = self.fresh(), self.pick(scope, 1)
        op = self.random.choice(("memref.alloc()", "sram.alloc"))
        self.say(f"{name} = {op} : {KIND}")
        self.say(f'"memref.copy"({source}, {name}) : ({KIND}, {KIND}) -> ()')
        return [name]

    def sum(self, scope: list[str], _: int) -> list[str]:
        """Set an element to the sum of two others."""
        one, two, target = self.pick(scope, 3)
        a, b, c = (self.fresh() for _ in range(3))
        at = [f"%c{self.random.randrange(4)}" for _ in range(3)]
        self.say(f"{a} = memref.load {one}[{at[0]}] : {KIND}")
        self.say(f"{b} = memref.load {two}[{at[1]}] : {KIND}")
        self.say(f"{c} = arith.addf {a}, {b} : f32")
        self.say(f"memref.store {c}, {target}[{at[2]}] : {KIND}")
        return []

    def view(self, scope: list[str], _: int) -> list[str]:
        """The same memory under another name, or a part of it that is overwritten."""
        (source,) = self.pick(scope, 1)
        one, two = self.fresh(), self.fresh()
        if self.random.random() < 0.5:
            self.say(f"{one} = memref.expand_shape {source} [[0, 1]] output_shape [2, 2]")
            self.say(f"  : {KIND} into {SQUARE}")
            self.say(f"{two} = memref.collapse_shape {one} [[0, 1]] : {SQUARE} into {KIND}")
            return [two]
        self.say(f"{one} = memref.subview {source}[2] [2] [1] : {KIND} to {PAIR}")
        self.say(f"{two} = memref.load {one}[%c1] : {PAIR}")
        self.say(f"memref.store {two}, {one}[%c0] : {PAIR}")
        return []

    def layer(self, scope: list[str], _: int) -> list[str]:
        """A layer in destination style, in place or not."""
        one, two = self.pick(scope, 2)
        self.say(f"npu.relu ins({one} : {KIND}) outs({two} : {KIND})")
        return []

    def call(self, scope: list[str], _: int) -> list[str]:
        """A call that returns one of its arguments."""
        name, (one, two) = self.fresh(), self.pick(scope, 2)
        self.say(f"{name} = func.call @other({one}, {two}) : ({KIND}, {KIND}) -> {KIND}")
        return [name]

    def loop(self, scope: list[str], depth: int) -> list[str]:
        """A loop that swaps two buffers, or carries none."""
        index, carried = self.fresh(), self.random.random() < 0.5
        if not carried:
            self.say(f"scf.for {index} = %c0 to %c3 step %c1 {{")
            self.block(scope, depth - 1, 4)
            self.say("}")
            return []
        one, two = self.pick(scope, 2)
        a, b, result = (self.fresh() for _ in range(3))
        kinds = f"{KIND}, {KIND}"
        self.say(f"{result}:2 = scf.for {index} = %c0 to %c3 step %c1")
        self.say(f"    iter_args({a} = {one}, {b} = {two}) -> ({kinds}) {{")
        self.block([*scope, a, b], depth - 1, 4)
        self.say(f"scf.yield {b}, {a} : {kinds}")
        self.say("}")
        return [f"{result}#0", f"{result}#1"]

    def branch(self, scope: list[str], depth: int) -> list[str]:
        """A branch that depends on the data and gives one of its own buffers or an older one."""
        (source,) = self.pick(scope, 1)
        value, test, result = (self.fresh() for _ in range(3))
        self.say(f"{value} = memref.load {source}[%c2] : {KIND}")
        self.say(f"{test} = arith.cmpf ogt, {value}, %zero : f32")
        self.say(f"{result} = scf.if {test} -> ({KIND}) {{")
        inner = self.block(scope, depth - 1, 3)
        self.say(f"scf.yield {self.random.choice(inner[-3:])} : {KIND}")
        self.say("} else {")
        inner = self.block(scope, depth - 1, 3)
        self.say(f"scf.yield {self.random.choice(inner[-3:])} : {KIND}")
        self.say("}")
        return [result]


def program(seed: int) -> str:
    """A random program."""
    made = Program(Random(seed))
    scope = made.block(["%x", "%y"], 3, 10)
    for index, name in enumerate(made.pick(scope, 4)):
        value = made.fresh()
        made.say(f"{value} = memref.load {name}[%c{index}] : {KIND}")
        made.say(f"memref.store {value}, %out[%c{index}] : {KIND}")
    return PROGRAM.format(kind=KIND, body="\n".join(made.lines))


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("greedy", "layers"),
        pytest.param("none", "loops", marks=pytest.mark.slow),
        pytest.param("greedy", "loops", marks=pytest.mark.slow),
        pytest.param("none", "layers", marks=pytest.mark.slow),
    ],
)
def test_planned_programs_compute_the_same(strategy: str, order: str) -> None:
    ctx = context()
    lower = "npu-lower-to-loops"
    assign = f"npu-assign-sram-offsets{{strategy={strategy}}}"
    passes = f"{assign},{lower}" if order == "layers" else f"{lower},{assign}"
    for seed in range(40):
        module = parse(ctx, program(seed))
        inputs = [np.array(row, np.float32) for row in ([1, -2, 3, -4], [0.5, 8, -16, 32])]
        (expected,) = run_function(module, "f", inputs)
        (found,) = run_function(run_passes(ctx, module, passes), "f", inputs)
        np.testing.assert_array_equal(found, expected, f"seed {seed}")
