"""`mve.mul_rows` in the interpreter, in plain C, and in Helium, against numpy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.parsing import emit_text, parse
from helpers.plain_c import computes
from npu_dialect import mve
from npu_dialect.interpreters import run_function
from npu_passes.emit.c.mve_rows import Rows
from npu_tools.verifying.emulators import run_on

FIRST = 3
"""The first word of the rows in the table."""


@dataclass(frozen=True)
class Case:
    """An op on vectors of a buffer, and its table; `packed`: the vectors lie in memory."""

    rows: Rows
    packed: bool = False

    @property
    def words(self) -> int:
        """The words of all rows, of the first values in front of them, and those read behind."""
        own = self.rows
        return own.head + own.rows * (4 * own.vectors - 4) + (own.rows - 1) * own.tail + 4

    @property
    def vectors(self) -> int:
        """The number of all vectors."""
        return self.rows.vectors * self.rows.pixels

    @property
    def inputs(self) -> list[NDArray[np.generic]]:
        """Vectors side by side, and words, some of them large."""
        random = np.random.default_rng(self.words)
        words = random.integers(-(2**31), 2**31, FIRST + self.words)
        x = random.integers(-128, 128, 16 * self.vectors)
        return [x.astype(np.int8), words.astype(np.int32)]

    @property
    def wanted(self) -> NDArray[np.int32]:
        """The sums of all pixels."""
        x, words = self.inputs
        own = words[FIRST:].astype(np.int32)
        biases, whole = own[: self.rows.head], 4 * self.rows.rows * (self.rows.vectors - 1)
        rows, last = np.split(own[self.rows.head :], [whole])
        weights = rows.view(np.int8).reshape(-1, self.rows.rows, 16).transpose(1, 0, 2)
        weights = weights.reshape(self.rows.rows, -1).astype(np.int64)
        ends = [last[row * self.rows.tail :][:4].view(np.int8) for row in range(self.rows.rows)]
        weights = np.hstack([weights, np.stack(ends)])
        sums = x.reshape(self.rows.pixels, -1).astype(np.int64) @ weights.transpose()
        lanes = sums[:, [min(lane, self.rows.rows - 1) for lane in range(4)]]
        firsts = biases.astype(np.int64) if self.rows.biased else np.zeros(1, np.int64)
        return (lanes + firsts).astype(np.int32).ravel()

    @property
    def text(self) -> str:
        """A function that stores the sums."""
        x, words = self.inputs
        types = [f"memref<{len(x)}xi8, #npu.sram>", f"memref<{len(words)}xi32, #npu.sram>"]
        types += [f"memref<{4 * self.rows.pixels}xi32, #npu.sram>"]
        ends = np.cumsum([0, -(-len(x) // 16) * 16, -(-len(words) // 4) * 16, 64])
        ways = ("input", "input", "output")
        arguments = ", ".join(
            f'%{name}: {type_} {{sram.{way}, npu.name = "{name}", sram.offset = {end} : i64}}'
            for name, type_, way, end in zip(("x", "words", "y"), types, ways, ends, strict=False)
        )
        lines = [f"%c{index} = arith.constant {index} : index" for index in range(16 * 32)]
        names = [f"%v{number}" for number in range(self.vectors)]
        lines += [
            f"{name} = mve.load %x[%c{16 * number}] : {types[0]} -> vector<16xi8>"
            for number, name in enumerate(names)
        ]
        kinds = ["vector<16xi8>"] * self.vectors
        if self.packed:
            kinds = [f"vector<{self.vectors}x16xi8>"]
            lines.append(f"%p = mve.pack {', '.join(names)} : {kinds[0]}")
            names = ["%p"]
        sums = [f"%r{number}" for number in range(self.rows.pixels)]
        end = f"rows {self.rows.rows}"
        end += f" tail {self.rows.tail}" if self.rows.tail < 4 else ""
        end += f"{' biased' * self.rows.biased} : {types[1]}"
        lines += [
            f"{', '.join(sums)} = mve.mul_rows {', '.join(names)} by %words[%c{FIRST}] {end}, "
            f"{', '.join(kinds)} -> {', '.join(['vector<4xi32>'] * len(sums))}"
        ]
        lines += [
            f"mve.store {name}, %y[%c{4 * number}] : vector<4xi32>, {types[2]}"
            for number, name in enumerate(sums)
        ]
        head = f"func.func @rows({arguments}) attributes {{sram.arena = {ends[3]} : i64}}"
        return "\n".join((f"{head} {{", *lines, "func.return", "}"))


def cases(most: int) -> st.SearchStrategy[Case]:
    """Some cases; `most`: the most vectors in registers."""
    rows = st.builds(
        Rows,
        st.integers(1, mve.MOST_VECTORS),
        st.integers(1, mve.MOST_ROWS),
        st.integers(1, mve.MOST_PIXELS),
        st.booleans(),
        st.integers(1, mve.ROW_WORDS),
    )
    return st.builds(Case, rows, st.booleans()).filter(
        lambda case: (
            (case.packed or case.vectors <= most) and (case.rows.rows == 4 or not case.rows.biased)
        )
    )


@settings(deadline=None, max_examples=30)
@given(cases(30))
def test_the_interpreter(case: Case) -> None:
    (found,) = run_function(parse(case.text), None, case.inputs)
    np.testing.assert_array_equal(found, case.wanted)


SOME = [
    Case(Rows(vectors, rows, pixels, biased, *tail), packed)
    for packed, vectors, rows, pixels, biased, *tail in (
        (False, 2, 4, 2, True),  # two pixels in registers, as of three channels
        (False, 3, 4, 2, False),
        (False, 5, 4, 1, True),
        (False, 2, 3, 2, False),
        (False, 1, 1, 1, False),
        (False, 6, 2, 1, False),
        (True, 5, 4, 2, True),
        (True, 16, 4, 2, True),  # a pixel that is farther than a load reaches
        (True, 15, 4, 1, False),
        (True, 12, 3, 2, False),
        (True, 9, 4, 2, False),
        (True, 9, 2, 2, False),
        (True, 16, 4, 2, False),
        (False, 2, 4, 2, True, 3),  # the last vectors lie closer
        (False, 1, 4, 2, False, 1),
        (False, 3, 3, 1, False, 2),
        (True, 4, 4, 2, False, 3),
        (True, 9, 4, 2, True, 2),
        (True, 5, 2, 1, False, 1),
    )
]


def name_of(case: Case) -> str:
    """The name of a case."""
    return case.rows.name + "_packed" * case.packed


@pytest.mark.parametrize("case", SOME, ids=name_of)
def test_plain_c(case: Case) -> None:
    computes(case.text, "rows", case.inputs, [case.wanted], "c")


@pytest.mark.parametrize("level", ["-O1", "-O3"])
@pytest.mark.parametrize("case", SOME, ids=name_of)
def test_helium(case: Case, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    require("cortex-m55")
    write_files(tmp_path, emit_text(case.text, "rows"), "rows")
    inputs = {name: each for name, each in zip(("x", "words"), case.inputs, strict=True)}
    (run,) = run_on("cortex-m55", tmp_path / "rows.c", [inputs], flags=[level], timeout=60).runs
    np.testing.assert_array_equal(run.outputs["y"], case.wanted)


@pytest.mark.parametrize("case", [each for each in SOME if not each.packed], ids=name_of)
def test_few_registers_have_all_sums(case: Case) -> None:
    """Eight registers are even, and a loop takes one of them; each sum is its own until joined."""
    rows = case.rows
    assert len(set(rows.sums.values())) <= (6 if len(rows.phases) > 1 else 2 * mve.MOST_ROWS)
    text = "\n".join(rows.instructions())
    assert text.count("vmladav.s8") == rows.rows * rows.pixels
    assert text.count("vmladav") == rows.rows * rows.vectors * rows.pixels
    assert text.count("vmov") == 2 * rows.pixels
    biased = replace(rows, tail=4).name == "mul_rows_2_4_2_biased"
    assert (len([*rows.instructions()]) == 31) == biased
