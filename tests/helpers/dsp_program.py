"""A function with every op of the dsp dialect, its inputs, and the outputs that numpy computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from npu_dialect import dsp

Words: TypeAlias = NDArray[np.int32]

EXTREMES = (0, 1, -1, 0x7F80_7F80, -0x7F80_7F81, -(2**31), 2**31 - 1, -0x7FFF_8000)
"""Words with the smallest and the greatest bytes and halves, at different places."""

FLOATS = (
    *(0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, -0.50000006, 1e-40),
    *(np.nan, np.inf, -np.inf, 8388607.5, -8388607.5, 8388606.5, 8388608.0, -8388609.0),
    *(4194305.0, -4194305.0, 8388605.0, -8388605.0, 4194304.5, -4194305.5),
    *(16777216.0, -1e9, 2147483520.0, 2147483648.0, -2147483648.0),
    *(-2147483904.0, 3e38, -3e38),
)
"""Ties, signed zeros, numbers next to powers of two and to the ends of i32, and no numbers."""

COUNT = 208
"""How many words each input has."""

BEFORE = 3
"""Bytes before the range that words are read from, so that they are read at every alignment."""


@dataclass(frozen=True)
class Case:
    """The inputs of the function."""

    a: Words
    b: Words
    acc: Words
    x: NDArray[np.float32]
    signed: NDArray[np.int8]
    unsigned: NDArray[np.uint8]

    @staticmethod
    def of(seed: int, count: int = COUNT) -> Case:
        """Every pair of extremes, as many as fit into `count`, and random words behind them."""
        random = np.random.default_rng(seed)
        left, right = (pick.ravel() for pick in np.meshgrid(EXTREMES, EXTREMES))
        some = random.integers(-(2**31), 2**31, (3, count)).astype(np.int32)
        known = min(len(left), count)
        some[0, :known], some[1, :known] = left[:known], right[:known]
        some[2, :known] = random.choice(EXTREMES, known)
        x = (random.standard_normal(count) * 10 ** random.uniform(-1, 10, count)).astype(np.float32)
        x[: len(FLOATS)] = FLOATS[:count]
        size = count + BEFORE + 3
        a, b, acc = some
        return Case(
            a,
            b,
            acc,
            x,
            random.integers(-128, 128, size).astype(np.int8),
            random.integers(0, 256, size).astype(np.uint8),
        )

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The inputs in the order of the arguments."""
        return [self.a, self.b, self.acc, self.x, self.signed, self.unsigned]


def packed(bottom: NDArray[Any], top: NDArray[Any]) -> Words:
    """Words from their bottom and top halves, each modulo 2^16."""
    return np.stack([bottom, top], 1).astype(np.int16).view(np.int32).ravel()


def half(x: Words, letter: str) -> NDArray[np.int64]:
    """The bottom (`b`) or top (`t`) halves of words, signed."""
    return x.view(np.int16).reshape(-1, 2)[:, "bt".index(letter)].astype(np.int64)


def chosen(x: Words, kind: type[np.int8 | np.uint8], rotate: int) -> NDArray[np.int64]:
    """Bytes 0 and 2 of each word, or 1 and 3 if `rotate` is 8; one row for each word."""
    return x.view(kind).reshape(-1, 4)[:, rotate // 8 :: 2].astype(np.int64)


def extended(kind: type[np.int8 | np.uint8], rotate: int) -> Callable[[Case], Words]:
    """The result of sxtb16 or uxtb16 on `a`."""
    return lambda case: packed(*chosen(case.a, kind, rotate).T)


def added(kind: type[np.int8 | np.uint8], rotate: int) -> Callable[[Case], Words]:
    """The result of sxtab16 or uxtab16 on `b` and `a`."""

    def compute(case: Case) -> Words:
        bottom, top = chosen(case.a, kind, rotate).T
        return packed(half(case.b, "b") + bottom, half(case.b, "t") + top)

    return compute


def multiplied(*pairs: str) -> Callable[[Case], Words]:
    """`acc` plus products of halves of `a` and `b`."""

    def compute(case: Case) -> Words:
        products = [half(case.a, pair[0]) * half(case.b, pair[1]) for pair in pairs]
        return np.sum([case.acc.astype(np.int64), *products], axis=0).astype(np.int32)

    return compute


def pair_of(halves: str) -> Callable[[Case], Words]:
    """Words of one half of `a` and one half of `b`."""
    return lambda case: packed(half(case.a, halves[0]), half(case.b, halves[1]))


def rounded(case: Case) -> Words:
    """The integers nearest to `x`."""
    return nearest(case.x)


def nearest(x: NDArray[np.float32]) -> Words:
    """The nearest integers, saturated to i32; NaN becomes 0."""
    ends = np.iinfo(np.int32)
    return np.clip(np.rint(np.nan_to_num(x.astype(np.float64))), ends.min, ends.max).astype(
        np.int32
    )


@np.errstate(all="ignore")
def scaled(case: Case) -> list[Words]:
    """The integers nearest to the float32 products of `a` and `x`, and of `b` and `x`."""
    return [nearest(number.astype(np.float32) * case.x) for number in (case.a, case.b)]


def scaled_to_bytes(case: Case) -> Words:
    """The same, each within a byte: the first one in the bottom half of a word."""
    low, high = (np.clip(words, 0, 255) for words in scaled(case))
    return low | high << 16


def rescaled(case: Case) -> Words:
    """The integers nearest to products of `a` and a scale, within a byte."""
    scale = np.float32(FACTOR) * np.float32(2.0**-38)
    return np.clip(nearest(case.a.astype(np.float32) * scale), -128, 127)


def held(low: int, high: int) -> Callable[[Case], Words]:
    """`a` clamped to a range."""
    return lambda case: np.clip(case.a, low, high).astype(np.int32)


def loaded(data: NDArray[Any]) -> Words:
    """The words that begin at each byte, without the first `BEFORE` bytes."""
    return sliding_window_view(data[BEFORE:], 4).copy().view(np.int32).ravel()


def neighbours(case: Case) -> list[Words]:
    """The words of `a`, and those behind them; the last two words are loaded twice."""
    first = np.minimum(np.arange(len(case.a)), len(case.a) - dsp.PAIR)
    return [case.a[first], case.a[first + 1]]


OPS: dict[str, Callable[[Case], Words]] = {
    "dsp.sxtb16 %a rotate 0 : i32": extended(np.int8, 0),
    "dsp.sxtb16 %a rotate 8 : i32": extended(np.int8, 8),
    "dsp.uxtb16 %a rotate 0 : i32": extended(np.uint8, 0),
    "dsp.uxtb16 %a rotate 8 : i32": extended(np.uint8, 8),
    "dsp.sxtab16 %b, %a rotate 0 : i32": added(np.int8, 0),
    "dsp.sxtab16 %b, %a rotate 8 : i32": added(np.int8, 8),
    "dsp.uxtab16 %b, %a rotate 0 : i32": added(np.uint8, 0),
    "dsp.uxtab16 %b, %a rotate 8 : i32": added(np.uint8, 8),
    "dsp.smlad %a, %b, %acc : i32": multiplied("bb", "tt"),
    "dsp.smlad %a, %b, %acc in_place : i32": multiplied("bb", "tt"),
    **{
        f"dsp.smla %a, %b, %acc halves {halves} : i32": multiplied(halves)
        for halves in ("bb", "bt", "tb", "tt")
    },
    **{
        f"dsp.pack %a, %b halves {halves} : i32": pair_of(halves)
        for halves in ("bb", "bt", "tb", "tt")
    },
    "dsp.round %x : f32 -> i32": rounded,
    "dsp.scale_pair %a, %b by %x, %x : i64": lambda case: scaled(case)[0],
    "dsp.scale_pair %a, %b by %x, %x {high} : i64": lambda case: scaled(case)[1],
    "dsp.scale_bytes %a, %b by %x, %x : i32": scaled_to_bytes,
    "dsp.rescale %a by %factor exponent 38 left 0 between -128 and 127 : i32": rescaled,
    "dsp.ssat %a to 8 : i32": held(-128, 127),
    "dsp.ssat %a to 16 : i32": held(-(2**15), 2**15 - 1),
    "dsp.usat %a to 8 : i32": held(0, 255),
    "dsp.usat %a to 16 : i32": held(0, 2**16 - 1),
    "dsp.load_word %low[%i] : LOW -> i32": lambda case: loaded(case.signed),
    "dsp.load_word %high[%i] : HIGH -> i32": lambda case: loaded(case.unsigned),
    "dsp.load_pair %as[%j] : WORDS -> i32, i32": lambda case: neighbours(case)[0],
    "dsp.load_pair %as[%j] {high} : WORDS -> i32, i32": lambda case: neighbours(case)[1],
}
"""For each op on the operands of one iteration, the results of all iterations."""


def expected(case: Case) -> tuple[Words, NDArray[np.uint8]]:
    """The outputs: a row of words for each op, and `a` stored as bytes from byte 1 on."""
    stored = np.concatenate([np.zeros(1, np.uint8), case.a.view(np.uint8)])
    return np.stack([compute(case) for compute in OPS.values()]), stored


def word_of(op: str, row: int) -> str:
    """The text that gives `%result` of a row: an op, or one of two words, `high` or not."""
    if op.endswith("i32, i32"):
        names = [f"%result{row}", f"%other{row}"]
        return f"{', '.join(reversed(names) if 'high' in op else names)} = {op}"
    if not op.endswith("i64"):
        return f"%result{row} = {op}"
    both, word = f"%both{row} = {op}\n", f"%both{row}"
    if "high" in op:
        both += f"%bits{row} = arith.constant 32 : i64\n"
        both += f"%top{row} = arith.shrsi %both{row}, %bits{row} : i64\n"
        word = f"%top{row}"
    return f"{both}%result{row} = arith.trunci {word} : i64 to i32"


def program(count: int = COUNT) -> str:
    """The text of the module."""
    size = count + BEFORE + 3
    kinds = [
        *(("a", f"{count}xi32"), ("b", f"{count}xi32"), ("acc", f"{count}xi32")),
        *(("x", f"{count}xf32"), ("low", f"{size}xi8"), ("high", f"{size}xui8")),
        *(("words", f"{len(OPS)}x{count}xi32"), ("stored", f"{4 * count + 1}xui8")),
    ]
    sizes = [4 * count] * 4 + [-(-size // 4) * 4] * 2 + [4 * count * len(OPS), 4 * count + 1]
    arguments = ", ".join(
        f"%{name}s: memref<{kind}, #npu.sram> {{sram.{'output' if place > 5 else 'input'}, "
        f'npu.name = "{name}", sram.offset = {sum(sizes[:place])} : i64}}'
        for place, (name, kind) in enumerate(kinds)
    )
    loads = "".join(
        f"%{name} = memref.load %{name}s[%i] : memref<{kind}, #npu.sram>\n"
        for name, kind in kinds[:4]
    )
    rows = "".join(
        f"%row{row} = arith.constant {row} : index\n{word_of(op, row)}\n"
        f"memref.store %result{row}, %wordss[%row{row}, %i] : memref<{kinds[6][1]}, #npu.sram>\n"
        for row, op in enumerate(OPS)
    )
    views = {
        name: f"memref<{count + 3}x{element}, strided<[1], offset: {BEFORE}>, #npu.sram>"
        for name, element in (("low", "i8"), ("high", "ui8"))
    }
    subviews = "".join(
        f"%{name} = memref.subview %{name}s[{BEFORE}] [{count + 3}] [1] : "
        f"memref<{size}x{'i8' if name == 'low' else 'ui8'}, #npu.sram> to {kind}\n"
        for name, kind in views.items()
    )
    views["words"] = f"memref<{kinds[0][1]}, #npu.sram>"
    rows = re.sub("LOW|HIGH|WORDS", lambda found: views[found[0].lower()], rows)
    return f"""
    func.func @words({arguments}) attributes {{sram.arena = {sum(sizes)} : i64}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %four = arith.constant 4 : index
      %count = arith.constant {count} : index
      %last = arith.constant {count - dsp.PAIR} : index
      %none = arith.constant 0 : i32
      %factor = arith.constant {FACTOR} : i32
      dsp.store_word %none, %storeds[%zero] : i32, memref<{kinds[7][1]}, #npu.sram>
      {subviews}
      scf.for %i = %zero to %count step %one {{
        %j = arith.minsi %i, %last : index
        {loads}{rows}
        %begin = arith.muli %i, %four : index
        %at = arith.addi %begin, %one : index
        dsp.store_word %a, %storeds[%at] : i32, memref<{kinds[7][1]}, #npu.sram>
      }}
      func.return
    }}"""


FACTOR = 1374389535
"""0.005 times 2^38."""
