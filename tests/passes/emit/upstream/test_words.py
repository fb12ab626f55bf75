"""Ops of the dsp dialect as arithmetic of upstream: the bits that numpy computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter

from helpers.c_harness import run_c, write_files
from helpers.dsp_program import COUNT, Case, expected, program
from helpers.emulated import require
from helpers.parsing import emit_text, parse
from helpers.upstream import needs_llvm
from npu_dialect.interpreters.runner import register_implementations
from npu_dialect.npu.maps import is_buffer_type
from npu_passes.emit.c import CFiles
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.printer import ir_text
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.upstream import HOST, Backend, build_object
from npu_tools.verifying.upstream_adapter import RUN, adapter, public_functions

Array = NDArray[Any]

NAMES: tuple[str, ...] = ("a", "b", "acc", "x", "low", "high")
FEW = 40
"""How many words the interpreter and the boards compute with."""


def words(count: int) -> ModuleOp:
    """The program with every op, behind the pass."""
    module = parse(program(count))
    ToUpstreamPass().apply(Context(), module)
    module.verify()
    return module


def in_place_of(count: int, folder: Path, backend: Backend) -> CFiles:
    """The program's C that calls LLVM's object, which is written as `words.o`."""
    files, module = emit_text(program(count), "words"), words(count)
    build_object(ir_text(module), ["words"], folder / "words.o", backend)
    return replace(files, source=adapter(module, "words", files.header))


def signed(array: Array) -> Array:
    """The same bytes, for the types behind the pass: they have no uint8."""
    return array.view(np.int8) if array.dtype == np.uint8 else array


@pytest.mark.parametrize("seed", range(3))
def test_interpreted(seed: int) -> None:
    case = Case.of(seed, FEW)
    wanted = expected(case)
    outputs = [np.zeros(array.shape, array.dtype) for array in wanted]
    module = words(FEW)
    arena_type = public_functions(module)[RUN].function_type.inputs.data[-1]
    assert is_buffer_type(arena_type)
    arena = np.zeros(arena_type.get_shape(), np.int8)
    given = [signed(array) for array in (*case.arrays, *outputs)]
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    with np.errstate(all="ignore"):
        interpreter.call_op("words", (*given, arena))
    for one, other in zip(outputs, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_on_this_computer(tmp_path: Path) -> None:
    needs_llvm()
    case = Case.of(seed=1)
    wanted = expected(case)
    files = in_place_of(COUNT, tmp_path, HOST)
    found = run_c(
        files,
        "words",
        case.arrays,
        [array.shape for array in wanted],
        output_types=[array.dtype.name for array in wanted],
        sanitize=False,
        flags=("-x", "none", str(tmp_path / "words.o"), "-x", "c"),
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["cortex-m4", "cortex-m0", "fe310"])
def test_on_boards(machine: str, tmp_path: Path) -> None:
    needs_llvm()
    require(machine)
    case = Case.of(2, FEW)
    files = in_place_of(FEW, tmp_path, Backend.of(machine))
    write_files(tmp_path, files, "words")
    inputs = dict(zip(NAMES, case.arrays, strict=True))
    sources = [tmp_path / "words.c", tmp_path / "words.o"]
    (run,) = run_on(machine, sources, [inputs]).runs
    for name, wanted in zip(("words", "stored"), expected(case), strict=True):
        np.testing.assert_array_equal(run.outputs[name], wanted.ravel())
