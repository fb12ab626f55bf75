"""A function with every op of the mve dialect, its inputs, and the outputs that numpy computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from helpers.dsp_program import FLOATS
from npu_dialect.interpreters.fused import fma

Array: TypeAlias = NDArray[Any]

COUNT = 60
"""How many vectors each op computes: at index 0, 1, 2 and so on of its inputs."""
SIZE = COUNT + 15
"""The elements of an input."""

KINDS: dict[str, Any] = {
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "f32": np.float32,
}
INPUTS = ("i8", "i8", "ui8", "i16", "i16", "i32", "i32", "f32", "f32", "f32")
"""The element types of the inputs; each has the name `x` and its number."""
OUTPUTS = ("i8", "i16", "i32", "f32", "i8", "ui8")
"""The element types of the outputs: one for each type of vector, then two for narrow stores."""
LANES = {"i8": 16, "i16": 8, "i32": 4, "f32": 4}


@dataclass(frozen=True)
class Case:
    """The inputs of the function."""

    arrays: list[Array]

    @staticmethod
    def of(seed: int) -> Case:
        """Random numbers of every size, and the ends of each type."""
        random = np.random.default_rng(seed)
        arrays: list[Array] = []
        for kind in INPUTS:
            if kind == "f32":
                x = random.standard_normal(SIZE) * 10 ** random.uniform(-1, 10, SIZE)
                if not any(array.dtype == np.float32 for array in arrays):
                    usual = [each for each in FLOATS if each == 0 or not abs(each) < 1e-37]
                    x[: len(usual)] = usual
                arrays.append(x.astype(np.float32))
                continue
            ends = np.iinfo(KINDS[kind])
            x = random.integers(ends.min, ends.max + 1, SIZE)
            x[random.integers(0, SIZE, 20)] = random.choice([ends.min, ends.max, 0], 20)
            arrays.append(x.astype(KINDS[kind]))
        return Case(arrays)


def rows(x: Array, lanes: int) -> Array:
    """The lanes from each index on."""
    return np.lib.stride_tricks.sliding_window_view(x, lanes)[:COUNT]


def loaded(number: int, kind: str, first: int | None = None) -> Callable[[Case], Array]:
    """Elements of an input as lanes of a type, zero from lane `first` on."""

    def compute(case: Case) -> Array:
        found = rows(case.arrays[number], LANES[kind]).astype(KINDS[kind])
        if first is not None:
            found[:, first:] = 0
        return found

    return compute


def across(one: int, other: int, kind: str) -> Callable[[Case], Array]:
    """x5 plus products of all lanes, in lane 0."""

    def compute(case: Case) -> Array:
        lanes = LANES[kind]
        a, b = (rows(case.arrays[n], lanes).astype(object) for n in (one, other))
        total = case.arrays[5][:COUNT].astype(object) + (a * b).sum(axis=1)
        wrapped = np.array([(int(each) + 2**31) % 2**32 - 2**31 for each in total], np.int32)
        return np.repeat(wrapped[:, None], 4, axis=1)

    return compute


def lanewise(kind: str, one: int, other: int, function: Any) -> Callable[[Case], Array]:
    """A function of the lanes of two inputs."""

    def compute(case: Case) -> Array:
        with np.errstate(all="ignore"):
            return function(*(rows(case.arrays[n], LANES[kind]) for n in (one, other)))

    return compute


def fused(case: Case) -> Array:
    """x8 * x9 + x8, rounded once."""
    a, b = (rows(case.arrays[n], 4) for n in (8, 9))
    return fma(a, b, a)


def rounded(case: Case) -> Array:
    """The integers nearest to x7, saturated to i32; NaN becomes 0."""
    ends = np.iinfo(np.int32)
    x = np.rint(np.nan_to_num(rows(case.arrays[7], 4).astype(np.float64)))
    return np.clip(x, ends.min, ends.max).astype(np.int32)


def narrowed(case: Case) -> Array:
    """x5 in even lanes, saturated, and x3 in odd ones."""
    words = rows(case.arrays[5], 4), rows(case.arrays[3], 4).astype(np.int32)
    return np.clip(np.stack(words, axis=2).reshape(COUNT, 8), -(2**15), 2**15 - 1)


def splat(kind: str) -> Callable[[Case], Array]:
    """x5, or x8, in every lane."""

    def compute(case: Case) -> Array:
        x = case.arrays[8 if kind == "f32" else 5][:COUNT]
        return np.repeat(x.astype(KINDS[kind])[:, None], LANES[kind], axis=1)

    return compute


OPS: list[tuple[str, str, Callable[[Case], Array]]] = [
    *(
        (kind, f"mve.load %x{number}[%i]{end} : IN{number} -> VECTOR", loaded(number, kind, first))
        for number, kinds in ((0, ("i8", "i16", "i32")), (2, ("i8", "i16", "i32")))
        for kind in kinds
        for end, first in (("", None), (" first 3", 3))
    ),
    ("i16", "mve.load %x3[%i] first 7 : IN3 -> VECTOR", loaded(3, "i16", 7)),
    ("i32", "mve.load %x3[%i] : IN3 -> VECTOR", loaded(3, "i32")),
    ("i32", "mve.load %x5[%i] first 1 : IN5 -> VECTOR", loaded(5, "i32", 1)),
    ("f32", "mve.load %x7[%i] first 2 : IN7 -> VECTOR", loaded(7, "f32", 2)),
    ("i32", "SCALAR mve.mla_across %v0, %v1, %n : vector<16xi8>", across(0, 1, "i8")),
    ("i32", "SCALAR mve.mla_across %v3, %v4, %n : vector<8xi16>", across(3, 4, "i16")),
    ("i32", "SCALAR mve.mla_across %v5, %v6, %n : vector<4xi32>", across(5, 6, "i32")),
    *((kind, "mve.splat %n : i32 -> VECTOR", splat(kind)) for kind in ("i8", "i16", "i32")),
    ("f32", "mve.splat %f : f32 -> VECTOR", splat("f32")),
    *(
        (kind, f"mve.{name} %v{one}, %v{one + 1} : VECTOR", lanewise(kind, one, one + 1, function))
        for name, function in (
            ("add", np.add),
            ("mul", np.multiply),
            ("max", np.maximum),
            ("min", np.minimum),
        )
        for kind, one in (("i8", 0), ("i16", 3), ("i32", 5), ("f32", 8))
        if kind != "f32" or name in ("add", "mul")
    ),
    (
        "i32",
        "mve.join %n, %k, %n, %k : VECTOR",
        lambda case: np.stack([case.arrays[5][:COUNT], case.arrays[6][:COUNT]] * 2, axis=1),
    ),
    (
        "f32",
        "mve.to_float %v5 : vector<4xi32> -> VECTOR",
        lambda case: rows(case.arrays[5], 4).astype(np.float32),
    ),
    ("i32", "mve.round %v7 : vector<4xf32> -> VECTOR", rounded),
    (
        "i32",
        "mve.widen %v3 bottom : vector<8xi16> -> VECTOR",
        lambda case: rows(case.arrays[3], 8)[:, ::2],
    ),
    (
        "i32",
        "mve.widen %v3 top : vector<8xi16> -> VECTOR",
        lambda case: rows(case.arrays[3], 8)[:, 1::2],
    ),
    ("i16", "mve.narrow %v5, %w : vector<4xi32> -> VECTOR", narrowed),
    ("f32", "mve.fma %v8, %v9, %v8 : VECTOR", fused),
]
"""For each op on the operands of one iteration: its lanes, its text, and what it computes."""


def number_of(kind: str) -> int:
    """How many ops have results of a kind."""
    return sum(each == kind for each, _, _ in OPS)


def sizes() -> list[tuple[str, str, int]]:
    """Name, element type and size of all arguments."""
    inputs = [(f"x{number}", kind, SIZE) for number, kind in enumerate(INPUTS)]
    outputs = [
        (f"o{number}", kind, number_of(kind) * COUNT * LANES[kind] if number < 4 else COUNT + 3)
        for number, kind in enumerate(OUTPUTS)
    ]
    return [*inputs, *outputs]


def expected(case: Case) -> list[Array]:
    """The outputs: of each kind the results of all ops; then the lowest bits of x5, stored."""
    found: list[Array] = []
    for kind in OUTPUTS[:4]:
        results = [compute(case) for each, _, compute in OPS if each == kind]
        found.append(np.stack(results).astype(KINDS[kind]).ravel())
    words = case.arrays[5]
    bytes_ = np.concatenate([words[:COUNT], words[COUNT : COUNT + 3]])
    found.append(bytes_.astype(np.int8))
    firsts = np.concatenate([words[:COUNT], words[COUNT : COUNT + 1], [0, 0]])
    found.append(firsts.astype(np.uint8))
    return found


def program() -> str:
    """The text of the module."""
    offset, arguments, types = 0, list[str](), dict[str, str]()
    for place, (name, kind, size) in enumerate(sizes()):
        types[name] = f"memref<{size}x{kind}, #npu.sram>"
        way = "input" if place < len(INPUTS) else "output"
        arguments.append(
            f'%{name}: {types[name]} {{sram.{way}, npu.name = "{name}", '
            f"sram.offset = {offset} : i64}}"
        )
        offset += -(-size * KINDS[kind]().itemsize // 16) * 16
    lines = [
        f"%v{number} = mve.load %x{number}[%i] : {types[f'x{number}']} -> {vector(kind)}"
        for number, kind in enumerate(INPUTS)
        if kind != "ui8"
    ]
    done = dict.fromkeys(LANES, 0)
    for row, (kind, text, _) in enumerate(OPS):
        text = text.replace("VECTOR", vector(kind))
        text = re.sub(r"IN(\d)", lambda found: types[f"x{found[1]}"], text)
        if text.startswith("SCALAR "):
            lines.append(f"%s{row} = {text.removeprefix('SCALAR ')}")
            lines.append(f"%r{row} = mve.splat %s{row} : i32 -> vector<4xi32>")
        else:
            lines.append(f"%r{row} = {text}")
        target = f"o{list(LANES).index(kind)}"
        lines.append(f"%c{row} = arith.constant {done[kind] * COUNT * LANES[kind]} : index")
        lines.append(f"%p{row} = arith.addi %at_{kind}, %c{row} : index")
        lines.append(f"mve.store %r{row}, %{target}[%p{row}] : {vector(kind)}, {types[target]}")
        done[kind] += 1
    places = [
        f"%lanes_{kind} = arith.constant {lanes} : index\n"
        f"%at_{kind} = arith.muli %i, %lanes_{kind} : index"
        for kind, lanes in LANES.items()
    ]
    body = "\n".join((*places, *lines))
    return f"""
    func.func @vectors({", ".join(arguments)}) attributes {{sram.arena = {offset} : i64}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %count = arith.constant {COUNT} : index
      %none = arith.constant 0 : i32
      %nothing = mve.splat %none : i32 -> vector<4xi32>
      %last = arith.constant {COUNT - 1} : index
      mve.store %nothing, %o5[%last] : vector<4xi32>, {types["o5"]}
      scf.for %i = %zero to %count step %one {{
        %n = memref.load %x5[%i] : {types["x5"]}
        %k = memref.load %x6[%i] : {types["x6"]}
        %w = mve.load %x3[%i] : {types["x3"]} -> vector<4xi32>
        %f = memref.load %x8[%i] : {types["x8"]}
        {body}
        mve.store %v5, %o4[%i] : vector<4xi32>, {types["o4"]}
        mve.store %v5, %o5[%i] first 2 : vector<4xi32>, {types["o5"]}
      }}
      func.return
    }}"""


def vector(kind: str) -> str:
    """The type of vectors of a kind."""
    return f"vector<{LANES[kind]}x{kind}>"
