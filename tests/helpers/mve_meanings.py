"""What each op of the mve dialect computes, in numpy, and the inputs of the tests."""

from __future__ import annotations

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
OUTPUTS = (
    *("i8", "i16", "i32", "f32", "i8", "ui8", "f32", "i8", "i8", "ui8", "ui8"),
    *("i8", "ui8", "ui8", "i8", "i8", "ui8"),
)
"""The element types of the outputs: one for each type of vector, two for narrow stores, one for
stores with gaps, four for stores at places, four for stores that saturate, and two for stores of
sixteen bytes at places."""
PLACES = (3, 14, 0, 8, 9, 1, 12, 5)
"""Where bytes are loaded and stored that lie apart."""
REACH = 16
"""Places are below this."""
SOME = 0b10100110
"""The mask of some lanes."""
SCATTERED = ((7, 3, 255, True), (8, 4, SOME, False), (9, 3, 255, True), (10, 4, SOME, False))
"""Stores at places: the numbers of output and input, the mask, and whether they are saturated."""
SATURATED = ((11, 9, None), (12, 8, 3), (13, 3, None), (14, 4, 5))
"""Stores that saturate: the numbers of output and input, and how many lanes, if not all."""
SPREAD = ((15, 0), (16, 1))
"""Stores of 16 bytes at the places, and at those behind all of them by turns: the numbers of output
and input."""
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


def products(one: int, other: int, kind: str) -> Callable[[Case], Array]:
    """Products of all lanes, in each lane."""

    def compute(case: Case) -> Array:
        start = np.repeat(case.arrays[5][:COUNT, None], 4, axis=1)
        return (across(one, other, kind)(case).astype(np.int64) - start).astype(np.int32)

    return compute


def gathered(mask: int, number: int = 0, *, signed: bool = False) -> Callable[[Case], Array]:
    """Bytes of an input at the places; zero in other lanes than those of a mask.

    With `signed` they keep their signs.
    """

    def compute(case: Case) -> Array:
        found = rows(case.arrays[number], REACH)[:, PLACES]
        found = found.astype(np.int8 if signed else np.uint8).astype(np.int16)
        return np.where([mask >> lane & 1 for lane in range(8)], found, 0)

    return compute


def gathered_bytes(number: int) -> Callable[[Case], Array]:
    """Bytes of an input at the places, each with its first byte behind it."""

    def compute(case: Case) -> Array:
        places = [each for place in PLACES for each in (place, 0)]
        return rows(case.arrays[number], REACH)[:, places].view(np.int8)

    return compute


def with_number(kind: str, number: int, function: Any) -> Callable[[Case], Array]:
    """A function of the lanes of an input and x5, or x8 for floats."""

    def compute(case: Case) -> Array:
        a = rows(case.arrays[number], LANES[kind])
        b = case.arrays[8 if kind == "f32" else 5][:COUNT, None].astype(KINDS[kind])
        with np.errstate(all="ignore"):
            return function(a, b)

    return compute


def added(a: Array, b: Array) -> Array:
    """a + b, saturated."""
    ends = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) + b, ends.min, ends.max).astype(a.dtype)


def pushed(case: Case) -> Array:
    """The low bytes of x3 as high ones, above those of x4."""
    old, new = (rows(case.arrays[number], 8) for number in (3, 4))
    return (old << 8 | new & 0xFF).astype(np.int16)


def with_word(lane: int) -> Callable[[Case], Array]:
    """x0 with four bytes of x5."""

    def compute(case: Case) -> Array:
        found = rows(case.arrays[0], 16).copy()
        word = np.ascontiguousarray(case.arrays[5][:COUNT]).astype("<i4").view(np.int8)
        found[:, 4 * lane : 4 * lane + 4] = word.reshape(-1, 4)
        return found

    return compute


def pushed_three(case: Case) -> Array:
    """Three bytes of x5, and all but the last three of x0."""
    x = rows(case.arrays[0], 16)
    low = np.ascontiguousarray(case.arrays[5][:COUNT]).astype("<i4").view(np.int8).reshape(-1, 4)
    return np.concatenate((low[:, :3], x[:, :-3]), axis=1)


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


def moved_up(case: Case) -> Array:
    """x9 with its lanes moved up by one, and zero in the first one."""
    x = rows(case.arrays[9], 4)
    return np.concatenate((np.zeros_like(x[:, :1]), x[:, :-1]), axis=1)


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


def low_halves(case: Case) -> Array:
    """The low halves of the bits of x8 in even lanes, and of x9 in odd ones."""
    bits = [rows(case.arrays[each], 4).copy().view(np.uint32) & 0xFFFF for each in (8, 9)]
    return np.stack(bits, axis=2).reshape(COUNT, 8).astype(np.uint16).view(np.int16)


def saturated(case: Case, number: int, count: int | None, kind: str) -> Array:
    """The halves of an input, or the low ones of floats, as bytes in front of each 16."""
    x, ends = case.arrays[number], np.iinfo(KINDS[kind])
    found = rows(x, LANES[INPUTS[number]]).copy()
    if x.dtype == np.float32:
        found = (found.view(np.uint32) & 0xFFFF).astype(np.uint16).view(np.int16)
    values = np.zeros((COUNT, REACH), KINDS[kind])
    stored = np.clip(found, ends.min, ends.max)[:, :count]
    values[:, : stored.shape[1]] = stored.astype(KINDS[kind])
    return values.ravel()


def splat(kind: str) -> Callable[[Case], Array]:
    """x5, or x8, in every lane."""

    def compute(case: Case) -> Array:
        x = case.arrays[8 if kind == "f32" else 5][:COUNT]
        return np.repeat(x.astype(KINDS[kind])[:, None], LANES[kind], axis=1)

    return compute


def moved(by: int) -> Callable[[Case], Array]:
    """In each word of the second vector, bytes moved up; others are those of the first one."""

    def found(case: Case) -> Array:
        words = [rows(case.arrays[each], 16).reshape(-1, 4) for each in (0, 1)]
        result = words[0].copy()
        for row, word in enumerate(words[1]):
            for byte in range(4):
                if 0 <= byte + by < 4:
                    result[row, byte + by] = word[byte]
        return result.reshape(-1, 16)

    return found
