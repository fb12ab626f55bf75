"""Random loops, branches, reads and writes: the C computes bit for bit what the interpreter does.

These programs show that no expression moves across a write, that values share variables only if
they may, and that parallel assignments stay parallel.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from helpers.c_harness import run_c
from helpers.parsing import emit_text, kernel, parse
from npu_dialect.interpreters import run_function

PROGRAMS = 24
"""How many functions are tested; each is a sequence of random blocks."""


class Generator:
    """Writes a random program. Operands are mostly the newest values, so that there are chains."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        """A new value name."""
        self.count += 1
        return f"%v{self.count}_"

    def pick(self, values: list[str]) -> str:
        """A random value that is visible at this place."""
        return values[-1 - min(int(self.random.expovariate(0.8)), len(values) - 1)]

    def index(self, indices: list[str]) -> str:
        """An index below 8."""
        return self.random.choice([*indices, *indices, "%c0", "%c3", "%c7"])

    def block(self, depth: int, values: list[str], indices: list[str], length: int) -> list[str]:
        """Append ops; returns the values that are visible at the end."""
        values = list(values)
        kinds = ["binary"] * 5 + ["select", "load", "load", "store", "for", "if"]
        for _ in range(length):
            kind = self.random.choice(kinds if depth < 3 else kinds[:-2])
            getattr(self, f"emit_{kind}")(depth, values, indices)
        return values

    def emit_binary(self, _: int, values: list[str], __: list[str]) -> None:
        name, op = self.fresh(), self.random.choice(["addf", "subf", "addf", "maximumf"])
        self.lines.append(f"{name} = arith.{op} {self.pick(values)}, {self.pick(values)} : f32")
        half = self.fresh()
        if self.random.random() < 0.4:
            self.lines.append(f"{half} = arith.mulf {name}, %half : f32")
            name = half
        values.append(name)

    def emit_select(self, _: int, values: list[str], __: list[str]) -> None:
        condition, name = self.fresh(), self.fresh()
        left, right = self.pick(values), self.pick(values)
        self.lines.append(f"{condition} = arith.cmpf ogt, {left}, {right} : f32")
        self.lines.append(f"{name} = arith.select {condition}, {left}, {right} : f32")
        values.append(name)

    def emit_load(self, _: int, values: list[str], indices: list[str]) -> None:
        name, buffer = self.fresh(), self.random.choice("xyy")
        self.lines.append(f"{name} = memref.load %{buffer}[{self.index(indices)}] : memref<8xf32>")
        values.append(name)

    def emit_store(self, _: int, values: list[str], indices: list[str]) -> None:
        value, index = self.pick(values), self.index(indices)
        half = self.fresh()
        self.lines.append(f"{half} = arith.mulf {value}, %half : f32")
        self.lines.append(f"memref.store {half}, %y[{index}] : memref<8xf32>")

    def yielded(self, values: list[str], count: int) -> str:
        """Append a terminator. Values become smaller on the way out, so that nothing overflows."""
        names: list[str] = []
        for _ in range(count):
            name = self.pick(values)
            if self.random.random() < 0.2:
                name = self.fresh()
                self.lines.append(f"{name} = arith.mulf {self.pick(values)}, %half : f32")
            names.append(name)
        return f"scf.yield {', '.join(names)} : {', '.join(['f32'] * count)}"

    def emit_for(self, depth: int, values: list[str], indices: list[str]) -> None:
        name, variable, count = self.fresh(), self.fresh(), self.random.randint(1, 3)
        carried = [self.fresh() for _ in range(count)]
        initial = ", ".join(f"{c} = {self.pick(values)}" for c in carried)
        bound, types = self.random.choice(["%c2", "%c3"]), ", ".join(["f32"] * count)
        self.lines.append(
            f"{name}:{count} = scf.for {variable} = %c0 to {bound} step %c1 "
            f"iter_args({initial}) -> ({types}) {{"
        )
        inner = self.block(depth + 1, values + carried, [*indices, variable], self.length())
        self.lines += [self.yielded(inner, count), "}"]
        values += [f"{name}#{i}" for i in range(count)]

    def emit_if(self, depth: int, values: list[str], indices: list[str]) -> None:
        name, condition, count = self.fresh(), self.fresh(), self.random.randint(1, 2)
        left, right = self.pick(values), self.pick(values)
        self.lines.append(f"{condition} = arith.cmpf olt, {left}, {right} : f32")
        types = ", ".join(["f32"] * count)
        self.lines.append(f"{name}:{count} = scf.if {condition} -> ({types}) {{")
        inner = self.block(depth + 1, values, indices, self.length())
        self.lines += [self.yielded(inner, count), "} else {"]
        inner = self.block(depth + 1, values, indices, self.random.choice([0, 0, 2]))
        self.lines += [self.yielded(inner, count), "}"]
        values += [f"{name}#{i}" for i in range(count)]

    def length(self) -> int:
        """How many ops an inner block has."""
        return self.random.randint(1, 6)


def program(seed: int) -> str:
    """The text of a random module."""
    generator = Generator(seed)
    generator.lines.append("%half = arith.constant 0.5 : f32")
    generator.lines.append("%first = memref.load %x[%c1] : memref<8xf32>")
    values = generator.block(0, ["%first"], [], 14)
    generator.lines.append(f"memref.store {values[-1]}, %y[%c0] : memref<8xf32>")
    return kernel("\n".join(generator.lines))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(seed: int) -> None:
    text = program(seed).replace(
        "%x: memref<8xf32>, %y", "%x: memref<8xf32>, %z: memref<8xf32>, %y"
    )
    start = "scf.for %s = %c0 to %c8 step %c1 {\n%sv = memref.load %z[%s] : memref<8xf32>\n"
    start += "memref.store %sv, %y[%s] : memref<8xf32>\n}\n%half = "
    text = text.replace("%half = ", start, 1)
    rng = np.random.default_rng(seed)
    x, z = (rng.integers(-8, 8, 8).astype(np.float32) / 8 for _ in range(2))
    module = parse(text)
    expected = run_function(module, None, [x, z, np.zeros(8, np.float32)])[-1]
    assert np.isfinite(expected).all()
    (y,) = run_c(emit_text(text), "k", [x, z], [(8,)], language="c" if seed % 2 else "c++")
    np.testing.assert_array_equal(y, expected)
