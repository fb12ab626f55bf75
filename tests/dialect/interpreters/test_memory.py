"""Buffers: wrong plans are errors, views share memory, functions check inputs and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, f32
from xdsl.utils.exceptions import InterpretationError

from helpers.reference import parsed
from npu_dialect.interpreters import Signature, find_function, run_function
from npu_dialect.interpreters.values import static_shape

Array = npt.NDArray[Any]
X = np.array([-1, 2, -3, 4], np.float32)

TWO_LAYERS = """
func.func @f(%x: memref<4xf32, #npu.sram> {{npu.name = "in", sram.input, sram.offset = 0 : i64}},
    %y: memref<4xf32, #npu.sram> {{npu.name = "out", sram.output, sram.offset = {y} : i64}})
    attributes {{sram.arena = {arena} : i64}} {{
  %a = sram.alloc at {a} : memref<4xf32, #npu.sram>
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%a : memref<4xf32, #npu.sram>)
  %b = sram.alloc at {b} : memref<4xf32, #npu.sram>
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%b : memref<4xf32, #npu.sram>)
  npu.add ins(%a, %b : memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>)
      outs(%y : memref<4xf32, #npu.sram>)
  func.return
}}
"""


def test_a_right_plan() -> None:
    module = parsed(TWO_LAYERS.format(arena=48, a=16, b=32, y=0))
    (result,) = run_function(module, None, [X])
    np.testing.assert_array_equal(result, 2 * np.maximum(X, 0))
    np.testing.assert_array_equal(X, [-1, 2, -3, 4])


def test_buffers_at_the_same_offset_share_memory() -> None:
    module = parsed(TWO_LAYERS.format(arena=48, a=16, b=24, y=32))
    with pytest.raises(InterpretationError, match="destination that overlaps no input"):
        run_function(module, None, [X])
    module = parsed(TWO_LAYERS.format(arena=64, a=16, b=24, y=48))
    (result,) = run_function(module, None, [X])
    assert not np.array_equal(result, 2 * np.maximum(X, 0))


def test_an_offset_outside_the_arena() -> None:
    module = parsed(TWO_LAYERS.format(arena=40, a=16, b=32, y=0))
    with pytest.raises(InterpretationError, match="the arena of 40 bytes, got bytes 32 to 48"):
        run_function(module, None, [X])


def test_fresh_memory_is_poisoned() -> None:
    module = parsed(
        """
        func.func @f(%y: memref<1xf32> {sram.output}) attributes {sram.arena = 8 : i64} {
          %a = sram.alloc at 4 : memref<1xf32, #npu.sram>
          "memref.copy"(%a, %y) : (memref<1xf32, #npu.sram>, memref<1xf32>) -> ()
          func.return
        }
        func.func @g() -> memref<1xi8> {
          %a = memref.alloc() : memref<1xi8>
          func.return %a : memref<1xi8>
        }
        """
    )
    (result,) = run_function(module, "f", [])
    assert result.view(np.uint8).tolist() == [0xA5] * 4
    assert run_function(module, "g", [])[0].view(np.uint8).tolist() == [0xA5]


def test_calls_share_the_callers_arena_and_its_buffers() -> None:
    module = parsed(
        """
        func.func private @layer(%x: memref<4xf32>, %y: memref<4xf32>) {
          %t = sram.alloc at 16 : memref<4xf32>
          npu.relu ins(%x : memref<4xf32>) outs(%t : memref<4xf32>)
          npu.add ins(%t, %t : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
          func.return
        }
        func.func @f(%x: memref<4xf32> {sram.input}, %y: memref<4xf32> {sram.output})
            attributes {sram.arena = 32 : i64} {
          %a = memref.alloc() {sram.offset = 0 : i64} : memref<4xf32>
          func.call @layer(%x, %a) : (memref<4xf32>, memref<4xf32>) -> ()
          func.call @layer(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
          func.return
        }
        """
    )
    np.testing.assert_array_equal(run_function(module, None, [X])[0], 4 * np.maximum(X, 0))


VIEWS = """
"memref.global"() <{{sym_name = "w", sym_visibility = "private", constant,
    type = memref<2xf32, #npu.flash>,
    initial_value = dense<[8.0, 9.0]> : tensor<2xf32>}}> : () -> ()
func.func @f(%x: memref<2x6xf32>) -> f32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cm1 = arith.constant -1 : index
  %v = memref.subview %x[0, 2] [2, 2] [1, 3]
      : memref<2x6xf32> to memref<2x2xf32, strided<[6, 3], offset: 2>>
  %w = memref.get_global @w : memref<2xf32, #npu.flash>
  %r = memref.subview %v[1, 0] [1, 2] [1, 1] : memref<2x2xf32, strided<[6, 3], offset: 2>>
      to memref<2xf32, strided<[3], offset: 8>>
  "memref.copy"(%w, %r) : (memref<2xf32, #npu.flash>, memref<2xf32, strided<[3], offset: 8>>) -> ()
  %flat = memref.reinterpret_cast %x to offset: [1], sizes: [3, 2], strides: [4, 1]
      : memref<2x6xf32> to memref<3x2xf32, strided<[4, 1], offset: 1>>
  %e = memref.load %flat[%c1, %c1] : memref<3x2xf32, strided<[4, 1], offset: 1>>
  memref.store %e, %flat[%c1, {index}] : memref<3x2xf32, strided<[4, 1], offset: 1>>
  %n = memref.collapse_shape %x [[0, 1]] : memref<2x6xf32> into memref<12xf32>
  %d = memref.dim %n, %c0 : memref<12xf32>
  %m = arith.subi %d, %c1 : index
  %last = memref.load %n[%m] : memref<12xf32>
  %s = sram.alloc : memref<2xf32, #npu.flash>
  memref.store %last, {target}[%c1] : memref<2xf32, #npu.flash>
  func.return %last : f32
}}
"""


def test_views_share_memory() -> None:
    array = np.arange(12, dtype=np.float32).reshape(2, 6)
    last, left = run_function(parsed(VIEWS.format(index="%c0", target="%s")), "f", [array])
    expected = array.copy()
    expected[1, [2, 5]] = [8, 9]
    expected.ravel()[5] = expected.ravel()[6]
    np.testing.assert_array_equal(left, expected)
    assert last == 9
    assert last.dtype == np.float32


def test_outside_a_buffer_and_into_a_constant() -> None:
    array = np.zeros((2, 6), np.float32)
    with pytest.raises(InterpretationError, match=r"index \[1, -1\] outside a buffer"):
        run_function(parsed(VIEWS.format(index="%cm1", target="%s")), "f", [array])
    with pytest.raises(InterpretationError, match="store to a constant"):
        run_function(parsed(VIEWS.format(index="%c0", target="%w")), "f", [array])


CAST = """
func.func @f(%x: memref<6xi8>) {
  %c2 = arith.constant 2 : index
  %p = memref.subview %x[0] [%c2] [1] : memref<6xi8> to memref<?xi8, strided<[1]>>
  %q = "memref.cast"(%p) : (memref<?xi8, strided<[1]>>) -> memref<SIZExi8, strided<[1]>>
  func.return
}
"""


def test_casts_keep_extents() -> None:
    run_function(parsed(CAST.replace("SIZE", "2")), "f", [np.zeros(6, np.int8)])
    with pytest.raises(InterpretationError, match=r"of shape \[2\] to memref<3xi8"):
        run_function(parsed(CAST.replace("SIZE", "3")), "f", [np.zeros(6, np.int8)])


PORTS = """
func.func @two(%a: tensor<2xf32> {npu.name = "a b"}, %b: i8)
    -> (tensor<2xf32> {npu.name = "y"}, i8) {
  func.return %a, %b : tensor<2xf32>, i8
}
func.func private @hidden() {
  func.return
}
"""


def test_signature_and_inputs() -> None:
    module = parsed(PORTS)
    signature = Signature.of(find_function(module, None))
    assert [port.name for port in signature.inputs] == ["a b", "input1"]
    assert [port.name for port in signature.outputs] == ["y", "output1"]
    array = np.array([1, 2], np.float32)
    first, second = run_function(module, None, [array, np.array(-3, np.int8)])
    assert (first.tolist(), second.tolist()) == ([1, 2], -3)


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("two", [X[:2]], "two: expected 2 inputs, got 1"),
        ("two", [X, np.array(0, np.int8)], r"a b: expected float32 of shape \[2\], got .* \[4\]"),
        ("two", [X[:2], np.array(0)], r"input1: expected int8 of shape \[\], got int64"),
        ("none", [], "expected a function @none, the module has @two, @hidden"),
    ],
)
def test_wrong_inputs(name: str, inputs: list[Array], message: str) -> None:
    with pytest.raises(InterpretationError, match=message):
        run_function(parsed(PORTS), name, inputs)
    with pytest.raises(InterpretationError, match="expected one public function"):
        run_function(parsed("func.func private @f() {\n func.return\n}"), None, [])


def test_shapes_that_are_not_static() -> None:
    assert static_shape(MemRefType(f32, [2, 3])) == (2, 3)
    with pytest.raises(InterpretationError, match="expected a static shape, got memref"):
        static_shape(MemRefType(f32, [DYNAMIC_INDEX, 3]))
