"""`arith.bitcast` of an i32 to a float, in the interpreter and in C."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import InterpretationError

from helpers.parsing import parse
from helpers.plain_c import computes
from npu_dialect.interpreters import run_function

TEXT = """
func.func @bits(%x: memref<6xi32, #npu.sram> {sram.input, npu.name = "x", sram.offset = 0 : i64},
                %y: memref<6xf32, #npu.sram> {sram.output, npu.name = "y", sram.offset = 32 : i64})
    attributes {sram.arena = 64 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %n = memref.load %x[%i] : memref<6xi32, #npu.sram>
    %f = arith.bitcast %n : i32 to f32
    memref.store %f, %y[%i] : memref<6xf32, #npu.sram>
  }
  func.return
}
"""
SOME = np.array([0, -1, -(2**31), 0x3F800000, 0x7F800000, 1], np.int32)
"""Zeros, a NaN, one, infinity, and the smallest number."""


def test_plain_c() -> None:
    computes(TEXT, "bits", [SOME], [SOME.view(np.float32)], "c")


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=6, max_size=6))
def test_the_interpreter(numbers: list[int]) -> None:
    x = np.array(numbers, np.int32)
    (found,) = run_function(parse(TEXT), None, [x])
    np.testing.assert_array_equal(found, x.view(np.float32))


def test_the_interpreter_says_which_widths_it_knows() -> None:
    text = TEXT.replace("i32", "i64").replace("f32", "f64").replace("64 : i64", "128 : i64")
    text = text.replace("32 : i64", "64 : i64")
    with pytest.raises(InterpretationError, match="expected a bitcast of 32 bits, got 64"):
        run_function(parse(text), None, [SOME.astype(np.int64)])
