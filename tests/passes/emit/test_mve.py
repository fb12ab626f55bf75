"""Emitted C with the mve dialect: plain C, and Helium on the emulated Cortex-M55, against numpy."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.mve_meanings import OUTPUTS, Case
from helpers.mve_program import expected, program, sizes
from helpers.parsing import emit_text
from helpers.plain_c import computes
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.emulators.build import compiler_of

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wcast-qual")
NAMES = tuple(name for name, _, _ in sizes())[-len(OUTPUTS) :]


@pytest.mark.parametrize("language", ["c", "c++"])
def test_plain_c_computes_what_numpy_does(language: str) -> None:
    case = Case.of(seed=1)
    computes(program(), "vectors", case.arrays, expected(case), language)


def test_helium_computes_what_numpy_does(tmp_path: Path) -> None:
    require("cortex-m55")
    case = Case.of(seed=2)
    write_files(tmp_path, emit_text(program(), "vectors"), "vectors")
    inputs = {f"x{number}": array for number, array in enumerate(case.arrays)}
    (run,) = run_on(
        "cortex-m55", tmp_path / "vectors.c", [inputs], timeout=60, stack_bytes=4096
    ).runs
    for name, wanted in zip(NAMES, expected(case), strict=True):
        np.testing.assert_array_equal(run.outputs[name], wanted)


def test_an_instruction_for_each_op(tmp_path: Path) -> None:
    require("cortex-m55")
    write_files(tmp_path, emit_text(program(), "k"), "k")
    compiler, machine = compiler_of("cortex-m55")
    command = [compiler, *machine, *FLAGS, "-O2", "-S", "-o", "-", "k.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    used = set(re.findall(r"^\s+(v\S+)\s", done.stdout, re.MULTILINE))
    assert used >= {
        *("vldrb.8", "vldrb.s16", "vldrb.s32", "vldrb.u16", "vldrb.u32", "vldrbt.8", "vldrh.s32"),
        *("vstrb.8", "vstrb.32", "vstrbt.32", "vmladava.s8", "vmladava.s16", "vmladava.s32"),
        *("vdup.8", "vdup.16", "vdup.32", "vadd.i8", "vadd.f32", "vmul.i16", "vmul.f32"),
        *("vmax.s8", "vmin.s32", "vcvt.f32.s32", "vcvtn.s32.f32", "vfma.f32"),
        *("vmladav.s8", "vmladav.s16", "vqadd.s8", "vqadd.s16", "vqadd.s32", "vsli.16"),
        *("vldrbt.u16", "vstrb.16", "vstrbt.16", "vqmovnb.s16", "vqmovnt.s32"),
        *("veor", "vqmovunb.s16", "vmullb.s16", "vmullt.s16"),
    }


def test_products_of_floats_are_kept_apart_from_sums() -> None:
    """A compiler that contracts them would round once."""
    source = emit_text(program(), "k").source
    for function in ("npu_mve_mul_f32x4", "npu_mve_mul_scalar_f32x4"):
        body = source.partition(f"npu_f32x4 {function}(")[2].partition("\n}\n")[0]
        assert "npu_rounded_float(a.lane[i] * b" in body
