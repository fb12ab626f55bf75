"""Scalar ops round and wrap as machines do; translated loops compute what interpreted ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.interpreter import Interpreter, OpCounter
from xdsl.utils.exceptions import InterpretationError

from helpers.reference import parsed
from npu_dialect.interpreters import register_implementations, run_function

BYTES = st.integers(-128, 127)


def binary(op: str, kind: str, lhs: Any, rhs: Any, result: str = "") -> Any:
    """The result of an op with two operands."""
    module = parsed(
        f"func.func @f(%a: {kind}, %b: {kind}) -> {result or kind} {{\n"
        f"  %0 = {op} %a, %b : {kind}\n  func.return %0 : {result or kind}\n}}"
    )
    dtype = {"f32": np.float32, "i8": np.int8, "index": np.int64}[kind]
    return run_function(module, None, [np.array(lhs, dtype), np.array(rhs, dtype)])[0].item()


INTEGER_OPS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: int(a / b),
    "remsi": lambda a, b: a - int(a / b) * b,
    "floordivsi": lambda a, b: int(np.floor(a / b)),
    "ceildivsi": lambda a, b: int(np.ceil(a / b)),
    "divui": lambda a, b: (a % 256) // (b % 256),
    "remui": lambda a, b: (a % 256) % (b % 256),
    "minsi": min,
    "maxsi": max,
    "minui": lambda a, b: min(a % 256, b % 256),
    "maxui": lambda a, b: max(a % 256, b % 256),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}


@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from(sorted(INTEGER_OPS)), lhs=BYTES, rhs=BYTES.filter(bool))
def test_integers_wrap(name: str, lhs: int, rhs: int) -> None:
    expected = (INTEGER_OPS[name](lhs, rhs) + 128) % 256 - 128
    assert binary(f"arith.{name}", "i8", lhs, rhs) == expected


def test_division_by_zero() -> None:
    with pytest.raises(InterpretationError, match="division by zero"):
        binary("arith.divsi", "index", 1, 0)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: a != b,
}


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize(("lhs", "rhs"), [(-1, 2), (2, -1), (3, 3)])
def test_comparisons(name: str, lhs: int, rhs: int) -> None:
    compare, nan = COMPARISONS[name], float("nan")
    sign = "" if name in ("eq", "ne") else "s"
    assert binary(f"arith.cmpi {sign}{name},", "i8", lhs, rhs, "i1") == compare(lhs, rhs)
    if sign:
        unsigned = compare(lhs % 256, rhs % 256)
        assert binary(f"arith.cmpi u{name},", "i8", lhs, rhs, "i1") == unsigned
    for order in ("o", "u"):
        op = f"arith.cmpf {order}{name},"
        assert binary(op, "f32", lhs, rhs, "i1") == compare(lhs, rhs)
        assert binary(op, "f32", lhs, nan, "i1") == (order == "u")


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("ord", True, False), ("uno", False, True), ("true", True, True), ("false", False, False)],
)
def test_comparisons_of_no_numbers(name: str, left: bool, right: bool) -> None:
    assert binary(f"arith.cmpf {name},", "f32", 1, 2, "i1") == left
    assert binary(f"arith.cmpf {name},", "f32", 1, float("nan"), "i1") == right


def test_floats_stay_f32() -> None:
    big, small = 16777216.0, 1.0
    assert binary("arith.addf", "f32", big, small) == big
    assert np.isnan(binary("arith.maximumf", "f32", 1, float("nan")))
    assert binary("arith.maxnumf", "f32", 1, float("nan")) == 1
    assert binary("arith.divf", "f32", 1, 0) == float("inf")
    assert binary("arith.divf", "f32", 1, 3) == np.float32(1) / np.float32(3)


LOOPS = """
func.func @f(%x: memref<6xf32>, %n: index) -> (f32, f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.1 : f32
  %first, %second, %steps = scf.for %i = %c0 to %n step %c2
      iter_args(%a = %one, %b = %half, %k = %c0) -> (f32, f32, index) {
    %s, %l = scf.for %j = %i to %n step %c1 iter_args(%t = %a, %m = %k) -> (f32, index) {
      %v = memref.load %x[%j] : memref<6xf32>
      %big = arith.cmpf ogt, %v, %half : f32
      %u = scf.if %big -> (f32) {
        %q = math.sqrt %v : f32
        %p = arith.mulf %q, %t : f32
        scf.yield %p : f32
      } else {
        memref.store %t, %x[%j] : memref<6xf32>
        scf.yield %t : f32
      }
      %next = arith.addi %m, %c1 : index
      scf.yield %u, %next : f32, index
    }
    %w = memref.subview %x[%i] [1] [1] : memref<6xf32> to memref<1xf32, strided<[1], offset: ?>>
    memref.store %s, %w[%c0] : memref<1xf32, strided<[1], offset: ?>>
    scf.if %true {
      memref.store %b, %x[%i] : memref<6xf32>
    }
    scf.yield %b, %s, %l : f32, f32, index
  }
  func.return %first, %second, %steps : f32, f32, index
}
""".replace("  %one =", "  %true = arith.constant true\n  %one =")


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.floats(-2, 2, width=32), min_size=6, max_size=6), n=st.integers(0, 6))
def test_translated_loops(values: list[float], n: int) -> None:
    """With a listener, loops are interpreted op by op. Without, they are translated to Python."""
    module, array = parsed(LOOPS), np.array(values, np.float32)
    *results, left = run_function(module, None, [array, np.array(n)])
    counter, buffer = OpCounter(), array.copy()
    interpreter = Interpreter(module, listeners=(counter,))
    register_implementations(interpreter)
    expected = interpreter.call_op("f", (buffer, n))
    assert counter.ops["memref.load"] == sum(n - i for i in range(0, n, 2))
    np.testing.assert_array_equal(np.array(results, np.float64), np.array(expected, np.float64))
    np.testing.assert_array_equal(left, buffer)


IN_A_LOOP = """
func.func @f(%x: memref<2x?xi8>, %at: index) -> i8 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i8
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %zero) -> (i8) {
    %limit = arith.constant 100 : i8
    %v = memref.load %x[%c1, %at] : memref<2x?xi8>
    %t = arith.addi %v, %limit : i8
    scf.yield %t : i8
  }
  func.return %sum : i8
}
"""


@pytest.mark.parametrize("at", [-1, 0, 2, 3])
def test_elements_in_a_loop(at: int) -> None:
    """Loads in translated loops are checked, and sums of bytes wrap around."""
    module, array = parsed(IN_A_LOOP), np.arange(98, 104, dtype=np.int8).reshape(2, 3)
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    if 0 <= at < 3:
        assert interpreter.call_op("f", (array, at)) == (101 + at + 100 - 256,)
        return
    with pytest.raises(InterpretationError, match=rf"index \[1, {at}\] outside a buffer"):
        interpreter.call_op("f", (array, at))


def test_a_loop_that_never_ends() -> None:
    module = parsed(LOOPS.replace("%c2 = arith.constant 2", "%c2 = arith.constant 0"))
    with pytest.raises(InterpretationError, match="expected a step of at least 1, got 0"):
        run_function(module, None, [np.zeros(6, np.float32), np.array(3)])


def test_fused_multiply_add() -> None:
    """The product is not rounded: if the sum cancels its first bits, its last bits remain."""
    module = parsed(
        "func.func @f(%a: f32, %b: f32, %c: f32) -> f32 {\n"
        "  %0 = math.fma %a, %b, %c : f32\n  func.return %0 : f32\n}"
    )
    one = np.float32(1 + 2**-12)
    args = [np.array(one), np.array(one), np.array(-1 - 2**-11, np.float32)]
    assert run_function(module, None, args)[0].item() == 2.0**-24


def test_regions_inside_loops() -> None:
    """Of the ops with regions, only loops and branches can stand inside a loop."""
    module = parsed(
        """
        func.func @f(%a: i1) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          scf.for %i = %c0 to %c1 step %c1 {
            scf.while () : () -> () {
              scf.condition(%a)
            } do {
              scf.yield
            }
          }
          func.return
        }"""
    )
    with pytest.raises(InterpretationError, match=r"no regions inside a loop .* got scf\.while"):
        run_function(module, None, [np.array(False)])


def test_wide_integers_in_a_loop() -> None:
    """Python limits the digits of decimal numbers in its source; types of MLIR may be wider."""
    module = parsed(
        "func.func @f(%n: index) -> i1 {\n"
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        "  %no = arith.constant false\n"
        "  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %no) -> (i1) {\n"
        "    %a = arith.constant -5 : i40000\n    %k = arith.constant 20000 : i40000\n"
        "    %b = arith.shli %a, %k : i40000\n    %c = arith.addi %b, %a : i40000\n"
        "    %less = arith.cmpi ult, %c, %b : i40000\n    scf.yield %less : i1\n  }\n"
        "  func.return %r : i1\n}"
    )
    (less,) = run_function(module, None, [np.array(1, np.int64)])
    assert less.item() is True
