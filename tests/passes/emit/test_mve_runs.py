"""`mve.mul_runs` in the interpreter, in plain C, and in Helium, against numpy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.utils.exceptions import InterpretationError

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.parsing import emit_text, parse
from helpers.plain_c import computes
from npu_dialect import mve
from npu_dialect.interpreters import run_function
from npu_passes.emit.c.mve_runs import Runs, windows_of
from npu_tools.verifying.emulators import run_on

SLOW = pytest.mark.slow
AT, FIRST, START = 5, 3, 2
"""The first byte of a window in the map, and the first words of the weights and of the sums."""


@dataclass(frozen=True)
class Case:
    """An op with its numbers; `known`: the number of rows is a constant."""

    run: mve.Run
    rows: int
    pixels: int = 2
    started: bool = True
    flips: bool = False
    known: bool = field(default=True)

    @property
    def inputs(self) -> dict[str, NDArray[np.generic]]:
        """A map, words of which some are large, first values, and the number of rows.

        With two windows, the weights behind the end of a run are zero, if they have no tail.
        """
        random, own = np.random.default_rng(self.run.bytes), self.run
        size = AT + (self.rows - 1) * own.pitch + own.read + (self.pixels - 1) * own.apart
        kind = np.uint8 if self.flips else np.int8
        limits = np.iinfo(kind)
        map = random.integers(limits.min, limits.max + 1, size).astype(kind)
        behind = max(0, own.words - own.step)
        words = random.integers(-(2**31), 2**31, FIRST + self.rows * own.step + behind)
        words = words.astype(np.int32)
        for row in range(self.rows if self.pixels > 1 and own.tail == 4 else 0):
            weights = words[FIRST + row * own.step :][: own.words].view(np.int8)
            shape = own.taps, own.vectors, own.filters, 16
            weights.reshape(shape)[:, -1, :, own.rest or 16 :] = 0
        starts = random.integers(-(2**31), 2**31, START + own.filters).astype(np.int32)
        return {"x": map, "words": words, "starts": starts, "n": np.array([self.rows], np.int32)}

    @property
    def wanted(self) -> NDArray[np.int32]:
        """The sums of all windows."""
        own, (map, words, starts, _) = self.run, self.inputs.values()
        bytes_ = map.astype(np.int64) - (128 if self.flips else 0)
        sums = np.zeros((self.pixels, own.filters), np.int64)
        if self.started:
            sums += starts[START:].astype(np.int64)
        for row in range(self.rows):
            read = words[FIRST + row * own.step :].astype(np.int32)
            for pixel, tap in product(range(self.pixels), range(own.taps)):
                begin = AT + row * own.pitch + pixel * own.apart + tap * own.across
                for vector in range(own.vectors):
                    counted = range(max(16 * vector, own.lead), min(16 * vector + 16, own.bytes))
                    some = bytes_[[begin - own.lead + each for each in counted]]
                    first = own.filters * (tap * (4 * own.vectors - 4 + own.tail) + 4 * vector)
                    apart = own.tail if vector == own.vectors - 1 else 4
                    for filter in range(own.filters):
                        weights = read[first + filter * apart :][:4].view(np.int8).astype(np.int64)
                        sums[pixel, filter] += weights[[each % 16 for each in counted]] @ some
        lanes = [min(lane, own.filters - 1) for lane in range(4)]
        return sums[:, lanes].astype(np.int32).ravel()

    @property
    def text(self) -> str:
        """A function that stores the sums."""
        own, arrays = self.run, self.inputs
        kinds = dict(zip(arrays, ("ui8" if self.flips else "i8", "i32", "i32", "i32"), strict=True))
        types = {
            name: f"memref<{len(each)}x{kinds[name]}, #npu.sram>" for name, each in arrays.items()
        }
        types["y"] = f"memref<{4 * self.pixels}xi32, #npu.sram>"
        sizes = [-(-each.nbytes // 16) * 16 for each in arrays.values()]
        ends = [int(each) for each in np.cumsum([0, *sizes])]
        arguments = ", ".join(
            f"%{name}: {type_} {{sram.{'output' if name == 'y' else 'input'}, "
            f'npu.name = "{name}", sram.offset = {end} : i64}}'
            for (name, type_), end in zip(types.items(), ends, strict=True)
        )
        lines = [f"%c{number} = arith.constant {number} : index" for number in range(12)]
        lines.append("%word = memref.load %n[%c0] : " + types["n"])
        lines.append("%loaded = arith.index_cast %word : i32 to index")
        rows = f"%c{self.rows}" if self.known else "%loaded"
        more = f" lead {own.lead}" if own.lead else ""
        more += f" taps {own.taps} across {own.across}" if own.taps > 1 else ""
        more += f" tail {own.tail}" if own.tail < 4 else ""
        starts = f" from %starts[%c{START}]" if self.started else ""
        every = [types["x"], types["words"], *([types["starts"]] if self.started else [])]
        names = [f"%r{number}" for number in range(self.pixels)]
        lines.append(
            f"{', '.join(names)} = mve.mul_runs %x[%c{AT}] by %words[%c{FIRST}]{starts} "
            f"rows {rows} run {own.bytes} apart {own.apart} pitch {own.pitch} step {own.step} "
            f"filters {own.filters}{more} : {', '.join(every)} "
            f"-> {', '.join(['vector<4xi32>'] * self.pixels)}"
        )
        lines += [
            f"mve.store {name}, %y[%c{4 * number}] : vector<4xi32>, {types['y']}"
            for number, name in enumerate(names)
        ]
        head = f"func.func @runs({arguments}) attributes {{sram.arena = {ends[-1] + 64} : i64}}"
        return "\n".join((f"{head} {{", *lines, "func.return", "}"))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Some cases."""
    most = mve.MOST_RUN_VECTORS
    bytes_ = draw(st.integers(1, 16 * most) | st.integers(1, most).map(lambda each: 16 * each))
    apart = draw(st.integers(0, 300) | st.integers(0, 5).map(lambda each: 16 * each))
    filters = draw(st.integers(1, mve.MOST_ROWS))
    least = mve.Run(bytes_, apart, 0, 0, filters).words
    pitch = bytes_ + draw(st.integers(0, 40))
    run = mve.Run(bytes_, apart, pitch, least + draw(st.integers(0, mve.MOST_SKIPPED)), filters)
    flags, rows = [draw(st.booleans()) for _ in range(3)], draw(st.integers(1, 5))
    if run.rest == 0 and draw(st.booleans()):
        return Case(replace(run, lead=draw(st.integers(1, 15))), rows, 1, *flags)
    if run.vectors <= most // 2 and draw(st.booleans()):
        taps, across = draw(st.integers(2, most // run.vectors)), draw(st.integers(0, 300))
        run = replace(run, taps=taps, across=across)
        run = replace(run, pitch=run.read + draw(st.integers(0, 40)), step=run.words)
    if run.rest and draw(st.booleans()):
        run = replace(run, tail=draw(st.integers(-(-run.rest // 4), 4)))
        more = draw(st.integers(0, mve.MOST_SKIPPED))
        run = replace(run, step=run.row_words + more)
    return Case(run, rows, draw(st.integers(1, 2)), *flags)


@settings(deadline=None, max_examples=40)
@given(cases())
def test_the_interpreter(case: Case) -> None:
    (found,) = run_function(parse(case.text), None, list(case.inputs.values()))
    np.testing.assert_array_equal(found, case.wanted)


def test_the_interpreter_wants_a_row() -> None:
    case = Case(mve.Run(16, 0, 16, 16, 4), 1, pixels=1, known=False)
    arrays = {**case.inputs, "n": np.zeros(1, np.int32)}
    with pytest.raises(InterpretationError, match="expected at least one row, got 0"):
        run_function(parse(case.text), None, list(arrays.values()))


SOME = [
    Case(mve.Run(48, 16, 512, 48, 4), 3),  # 3x3 of 16 channels
    Case(mve.Run(96, 32, 200, 96, 4), 3, known=False),
    Case(mve.Run(192, 64, 320, 192, 4), 2, started=False),
    Case(mve.Run(30, 6, 84, 32, 4), 5),  # 5x5 of 6 channels
    Case(mve.Run(30, 127, 184, 32, 3), 5, flips=True),
    Case(mve.Run(144, 128, 4095, 144, 4), 2),  # the farthest row
    Case(mve.Run(200, 200, 500, 208, 4), 2, known=False),
    Case(mve.Run(33, 16, 64, 60, 4), 3),  # shared vectors, the last one in part
    Case(mve.Run(70, 64, 160, 203, 4), 2, flips=True),  # the most words between rows
    Case(mve.Run(80, 0, 80, 80, 4), 5, 1),
    Case(mve.Run(84, 0, 84, 96, 4), 1, 1),
    Case(mve.Run(84, 0, 84, 48, 2), 1, 1, started=False),
    Case(mve.Run(1, 5, 8, 4, 1), 2),
    Case(mve.Run(16, 32, 300, 80, 4, taps=5, across=64), 5),  # groups, taps apart
    Case(mve.Run(40, 200, 700, 96, 4, taps=2, across=300), 3, known=False),
    Case(mve.Run(8, 24, 90, 36, 3, taps=3, across=24), 2, 2, started=False, flips=True),
    Case(mve.Run(24, 0, 344, 96, 4, taps=3, across=160), 1, 1, flips=True),
    Case(mve.Run(40, 0, 44, 64, 4), 3, 1, flips=True),  # what padding cuts at the right
    Case(mve.Run(200, 200, 500, 208, 4), 1, flips=True),
    Case(mve.Run(48, 0, 84, 48, 4, lead=8), 3, 1),  # what padding cuts at the left
    Case(mve.Run(16, 0, 24, 20, 3, lead=15), 2, 1, started=False, flips=True),
    Case(mve.Run(64, 0, 61, 64, 4, lead=3), 1, 1, flips=True),
    Case(mve.Run(256, 32, 300, 256, 4), 1),
    Case(mve.Run(31, 33, 300, 24, 3), 4, started=False, known=False),
    Case(mve.Run(136, 136, 500, 136, 4, tail=2), 3),  # the last vectors lie closer
    Case(mve.Run(56, 112, 300, 60, 4, tail=3), 2, known=False),
    Case(mve.Run(36, 32, 300, 48, 4, tail=1), 3, flips=True),  # no loads are shared
    Case(mve.Run(9, 0, 20, 12, 4, tail=3), 1, 1, started=False),
    Case(mve.Run(20, 40, 200, 45, 3, taps=3, across=60, tail=1), 2, flips=True),
    Case(mve.Run(24, 200, 700, 120, 4, taps=4, across=150, tail=2), 4, started=False),
]
"""At least one of each form of windows, with and without what a function may have besides."""


def name_of(case: Case) -> str:
    """The name of a case."""
    own = case.run
    first = f"{own.bytes}-{own.apart}-{own.filters}-{case.pixels}-{own.lead}-{own.taps}"
    return f"{first}-tail{own.tail}" if own.tail < 4 else first


@pytest.mark.parametrize("case", SOME, ids=name_of)
def test_plain_c(case: Case) -> None:
    computes(case.text, "runs", list(case.inputs.values()), [case.wanted], "c")


@pytest.mark.parametrize("level", ["-O3", *(pytest.param(o, marks=SLOW) for o in ("-O0", "-O1"))])
@pytest.mark.parametrize("case", SOME, ids=name_of)
def test_helium(case: Case, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55; without optimisation, the intrinsics."""
    require("cortex-m55")
    write_files(tmp_path, emit_text(case.text, "runs"), "runs")
    (run,) = run_on(
        "cortex-m55", tmp_path / "runs.c", [case.inputs], flags=[level], timeout=60
    ).runs
    np.testing.assert_array_equal(run.outputs["y"], case.wanted)


def test_the_cases_have_all_forms() -> None:
    ops = [
        next(op for op in parse(case.text).walk() if isinstance(op, mve.MulRunsOp)) for case in SOME
    ]
    assert {windows_of(op) for op in ops} >= {"one", "near", "far", "shared1", "shared4"}


def test_instructions_of_a_row() -> None:
    """3x3 of 16 channels: 4 loads of the map, 12 of weights, 24 products, and 3 for the row."""
    runs = Runs(3, 4, "shared1", started=True)
    text = [*runs.instructions()]
    row = text[text.index("1:") + 1 : text.index("bne 1b") + 1]
    assert len(row) == 43
    assert text[: text.index("1:")] == [
        "ldm %[starts], {r0, r2, r4, r6}",
        "ldm %[starts], {r8, r10, r12, lr}",
    ]
    assert len(text) - text.index("bne 1b") - 1 == 4
