"""`dsp.rescale` in C, in the interpreter and in upstream's dialects: the bits of float32."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.interpreter import Interpreter

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.parsing import emit_text, parse
from helpers.plain_c import computes
from npu_dialect import dsp
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.runner import register_implementations
from npu_dialect.npu.maps import is_buffer_type
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.emulators.build import compiler_of
from npu_tools.verifying.upstream_adapter import RUN, public_functions

Words = NDArray[np.int32]

COUNT = 100
KINDS: list[tuple[int, int, int, tuple[int, int]]] = [
    (1374389535, 38, 11, (-128, 127)),  # a scale of 0.005
    (2**31 - 128, 31, 17, (0, 255)),
    (1 << 30, 31, 20, (-3, 250)),  # a half: every second number is a tie
    (1717986918, 33, 5, (-128, 127)),  # few bits of a fraction
    (12345, 38, 14, (-(2**15), 2**15 - 1)),
    (3, 52, 0, (0, 0)),
    (2**30 + 2**12, 24, 12, (-128, 127)),  # four bits: floats
]
"""A factor, an exponent, how far sums are shifted, and bounds."""


def program() -> str:
    """Rescales each word of a row as the row's op says; so many rows."""
    rows, count = len(KINDS), len(KINDS) * COUNT
    kind = f"memref<{rows}x{COUNT}xi32, #npu.sram>"
    ops = "".join(
        f"""
        %row{row} = arith.constant {row} : index
        %factor{row} = arith.constant {factor} : i32
        %x{row} = memref.load %sums[%row{row}, %i] : {kind}
        %q{row} = dsp.rescale %x{row} by %factor{row} exponent {exponent} left {left}
            between {low} and {high} : i32
        memref.store %q{row}, %results[%row{row}, %i] : {kind}"""
        for row, (factor, exponent, left, (low, high)) in enumerate(KINDS)
    )
    return f"""
    func.func @rescaled(
        %sums: {kind} {{sram.input, npu.name = "sums", sram.offset = 0 : i64}},
        %results: {kind} {{sram.output, npu.name = "results", sram.offset = {4 * count} : i64}}
    ) attributes {{sram.arena = {8 * count} : i64}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %count = arith.constant {COUNT} : index
      scf.for %i = %zero to %count step %one {{{ops}
      }}
      func.return
    }}"""


def sums(seed: int) -> Words:
    """Words for each op: beside halves, the largest ones, and some others."""
    random, rows = np.random.default_rng(seed), list[Words]()
    for factor, exponent, left, (low, high) in KINDS:
        largest = 2 ** (31 - left) - 1
        halves = random.integers(low - 2, high + 3, COUNT) + 0.5
        near = np.rint(halves * (2.0**exponent / factor)) + random.integers(-1, 2, COUNT)
        some = random.integers(-largest, largest + 1, COUNT // 4)
        near[: COUNT // 4] = some
        near[:2] = -largest, largest
        rows.append(np.clip(near, -largest, largest).astype(np.int32))
    return np.stack(rows)


def wanted(x: Words) -> Words:
    """What float32 gives."""
    rows = list[Words]()
    for row, (factor, exponent, _, (low, high)) in zip(x, KINDS, strict=True):
        scale = np.float32(factor) * np.float32(2.0**-exponent)
        products = (row.astype(np.float32) * scale).astype(np.float64)
        rows.append(np.clip(np.rint(products), low, high).astype(np.int32))
    return np.stack(rows)


def test_interpreted() -> None:
    x = sums(0)
    (found,) = run_function(parse(program()), None, [x])
    np.testing.assert_array_equal(found, wanted(x))


def test_upstream() -> None:
    module, x = parse(program()), sums(1)
    ToUpstreamPass().apply(Context(), module)
    module.verify()
    assert not re.search(r"\b(dsp|npu)\.", str(module))
    arena_type = public_functions(module)[RUN].function_type.inputs.data[-1]
    assert is_buffer_type(arena_type)
    found, arena = np.zeros_like(x), np.zeros(arena_type.get_shape(), np.int8)
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    interpreter.call_op("rescaled", (x, found, arena))
    np.testing.assert_array_equal(found, wanted(x))


@pytest.mark.parametrize("language", ["c", "c++"])
def test_plain_c(language: str) -> None:
    x = sums(2)
    computes(program(), "rescaled", [x], (wanted(x),), language)


@pytest.mark.parametrize("machine", ["fe310", "cortex-m0", "cortex-m4"])
def test_boards(machine: str, tmp_path: Path) -> None:
    """Also the core without long products."""
    require(machine)
    x = sums(3)
    write_files(tmp_path, emit_text(program(), "rescaled"), "rescaled")
    (run,) = run_on(machine, tmp_path / "rescaled.c", [{"sums": x}]).runs
    np.testing.assert_array_equal(run.outputs["results"], wanted(x).ravel())


def test_floats_are_in_one_function_only(tmp_path: Path) -> None:
    """A core without an FPU calls functions for floats there, and nowhere else."""
    require("fe310")
    write_files(tmp_path, emit_text(program(), "k"), "k")
    compiler, machine = compiler_of("fe310")
    done = subprocess.run(
        [compiler, *machine, "-O2", "-S", "-o", "-", "k.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    floats, place = set[str](), ""
    for line in done.stdout.splitlines():
        if label := re.match(r"(\w+):", line):
            place = label[1]
        elif re.search(r"\b(call|tail)\s+__\w+sf", line):
            floats.add(place)
    assert floats == {"npu_dsp_rescale_in_floats"}


def test_few_numbers_are_near_a_half() -> None:
    """The op says how many of its numbers are computed in floats."""
    module = parse(program())
    shares = [
        (2 * op.near + 1) / 2**op.shift for op in module.walk() if isinstance(op, dsp.RescaleOp)
    ]
    assert [share < 0.001 for share in shares] == [True, True, True, False, False, True, False]


def test_another_function_of_that_name() -> None:
    """The names of the functions depend on the ops, so any may clash with one in the text."""
    name = "rescale_38_11_m128_127"
    text = f"""
    func.func private @{name}(%x: memref<1xi32>) {{
      %c0 = arith.constant 0 : index
      %factor = arith.constant 1374389535 : i32
      %v = memref.load %x[%c0] : memref<1xi32>
      %q = dsp.rescale %v by %factor exponent 38 left 11 between -128 and 127 : i32
      memref.store %q, %x[%c0] : memref<1xi32>
      func.return
    }}
    func.func @k(%x: memref<1xi32>) {{
      func.call @{name}(%x) : (memref<1xi32>) -> ()
      func.return
    }}"""
    heads = re.findall(r"npu_dsp_rescale_38\w+(?=\(\s*int32_t)", emit_text(text, "npu_dsp").source)
    assert sorted(heads) == [f"npu_dsp_{name}", f"npu_dsp_{name}_2"]
