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
OUTPUTS = ("i8", "i16", "i32", "f32", "i8", "ui8", "f32")
"""The element types of the outputs: one for each type of vector, two for narrow stores, and one for
stores with gaps."""
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


def with_one(kind: str, number: int) -> Callable[[Case], Array]:
    """An input times x5, or x8 for floats, plus the input."""

    def compute(case: Case) -> Array:
        a = rows(case.arrays[number], LANES[kind])
        if kind == "f32":
            return fma(a, case.arrays[8][:COUNT, None], a)
        low = case.arrays[5][:COUNT, None].astype(np.int64)
        return (a.astype(np.int64) * low + a).astype(KINDS[kind])

    return compute


def chosen(name: str) -> Callable[[Case], Array]:
    """Of x7 and x8 in each lane the greater or the smaller one; of numbers without order x8."""

    def compute(case: Case) -> Array:
        a, b = (rows(case.arrays[n], 4) for n in (7, 8))
        with np.errstate(invalid="ignore"):
            first = {"max": a > b, "min": a < b, "maximum": (a > b) | np.isnan(a)}[name]
        return np.where(first, a, b)

    return compute


def apart(number: int, first: int = 4) -> Callable[[Case], Array]:
    """Every third element of an input, zero from lane `first` on."""

    def compute(case: Case) -> Array:
        found = np.stack([case.arrays[number][i : i + 10 : 3] for i in range(COUNT)])
        found[:, first:] = 0
        return found

    return compute


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
    ("f32", "mve.fma_scalar %v9, %f, %v9 : VECTOR", with_one("f32", 9)),
    *(
        (kind, f"mve.mla_scalar %v{number}, %n, %v{number} : VECTOR", with_one(kind, number))
        for kind, number in (("i8", 0), ("i16", 3), ("i32", 6))
    ),
    *(("f32", f"mve.{name} %v7, %v8 : VECTOR", chosen(name)) for name in ("max", "min", "maximum")),
    ("f32", "mve.load %t7[%zero] : THIRD -> VECTOR", apart(7)),
    ("f32", "mve.load %t8[%zero] first 3 : THIRD -> VECTOR", apart(8, 3)),
    ("i32", "mve.load %t5[%zero] : THIRD -> VECTOR", apart(5)),
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
        for number, kind in enumerate(OUTPUTS[:6])
    ]
    return [*inputs, *outputs, ("o6", "f32", 8 * COUNT)]


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
    places = np.stack([rows(case.arrays[number], 4) for number in (7, 8)], axis=2)
    places[:, 3, 1] = case.arrays[8][:COUNT]
    found.append(places.ravel())
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
    ] + [views(types)]
    done = dict.fromkeys(LANES, 0)
    for row, (kind, text, _) in enumerate(OPS):
        text = text.replace("VECTOR", vector(kind)).replace("THIRD", every_third(kind))
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


def views(types: dict[str, str]) -> str:
    """Every third element of some inputs from element i on, and stores to every second one.

    Output o6 gets v7 in even places, and in odd ones v8, of whose vectors the last lane is x8[i].
    """
    lines = [
        f"%t{number} = memref.subview %x{number}[%i] [4] [3] : "
        f"{types[f'x{number}']} to {every_third(kind)}"
        for number, kind in ((5, "i32"), (7, "f32"), (8, "f32"))
    ]
    for name, place in (("even", "%at_even"), ("odd", "%at_odd")):
        view = every_third("f32").replace("[3]", "[2]")
        lines.append(f"%{name} = memref.subview %o6[{place}] [4] [2] : {types['o6']} to {view}")
    stores = (("%v7", "%even", ""), ("%ends", "%odd", ""), ("%v8", "%odd", " first 3"))
    return "\n".join(
        (
            *("%eight = arith.constant 8 : index", "%at_even = arith.muli %i, %eight : index"),
            *("%at_odd = arith.addi %at_even, %one : index", *lines),
            "%ends = mve.splat %f : f32 -> vector<4xf32>",
            *(
                f"mve.store {value}, {at}[%zero]{end} : vector<4xf32>, "
                + every_third("f32").replace("[3]", "[2]")
                for value, at, end in stores
            ),
        )
    )


def every_third(kind: str) -> str:
    """The type of four elements of which each is the third one in memory."""
    return f"memref<4x{kind}, strided<[3], offset: ?>, #npu.sram>"


def vector(kind: str) -> str:
    """The type of vectors of a kind."""
    return f"vector<{LANES[kind]}x{kind}>"
