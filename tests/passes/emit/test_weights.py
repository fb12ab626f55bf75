"""Weights are the same bits in the C, both as decimals and in a file."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.dialects.memref import GlobalOp

from helpers.c_harness import run_c
from helpers.parsing import parse
from npu_passes.emit.c import CFiles, emit
from npu_passes.emit.c.weights import PER_LONG_LINE

COUNT = 4096
BITS = np.random.default_rng(0).integers(0, 2**32, COUNT - 6, np.uint32)
SPECIAL = np.array([0, 0x80000000, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000], np.uint32)
FLOATS = np.concatenate([BITS, SPECIAL]).view(np.float32)
LONGS = np.array([-(2**63), 2**63 - 1, 0, -1] * (COUNT // 4), np.int64)
ARRAYS = {
    "f32": FLOATS,
    "f64": np.random.default_rng(1).standard_normal(COUNT),
    "i8": np.arange(COUNT).astype(np.int8),
    "i16": np.arange(-COUNT, 0).astype(np.int16),
    "i32": np.array([-(2**31), 2**31 - 1] * (COUNT // 2), np.int32),
    "i64": LONGS,
}


def copy_of_weights(element: str, array: NDArray[np.generic], where: Literal["c", "bin"]) -> CFiles:
    """A function that copies its weights into its output."""
    kind = f"memref<{COUNT}x{element}>"
    module = parse(
        f"""
        "memref.global"() <{{sym_name = "first", sym_visibility = "private", constant,
          type = memref<3xf32>, initial_value = dense<1.5> : tensor<3xf32>}}> : () -> ()
        "memref.global"() <{{sym_name = "w", sym_visibility = "private", type = {kind}, constant,
          initial_value = dense<0{".0" if element[0] == "f" else ""}> : tensor<{COUNT}x{element}>
        }}> : () -> ()
        func.func @k(%z: memref<3xf32>, %y: {kind}) {{
          %first = memref.get_global @first : memref<3xf32>
          "memref.copy"(%first, %z) : (memref<3xf32>, memref<3xf32>) -> ()
          %w = memref.get_global @w : {kind}
          "memref.copy"(%w, %y) : ({kind}, {kind}) -> ()
          func.return
        }}"""
    )
    _, weights, *_ = module.ops
    assert isinstance(weights, GlobalOp)
    value = weights.initial_value
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert isinstance(value.type, TensorType)
    weights.initial_value = DenseIntOrFPElementsAttr(value.type, BytesAttr(array.tobytes()))
    return emit(module, weights=where)


@pytest.mark.parametrize("element", ARRAYS)
@pytest.mark.parametrize("where", ["c", "bin"])
def test_bit_for_bit(element: str, where: Literal["c", "bin"]) -> None:
    array = ARRAYS[element]
    files = copy_of_weights(element, array, where)
    first, found = run_c(
        files, "k", [], [(3,), (COUNT,)], output_types=["float32", array.dtype.name]
    )
    np.testing.assert_array_equal(first, np.full(3, 1.5, np.float32))
    if element[0] == "f":  # a decimal does not keep the bits of a NaN
        np.testing.assert_array_equal(np.isnan(found), np.isnan(array))
        found, array = found[~np.isnan(found)], array[~np.isnan(array)]
    assert found.tobytes() == array.tobytes()


def test_decimals_are_short() -> None:
    files = copy_of_weights("f32", np.full(COUNT, np.float32(0.1)), "c")
    assert f"    {', '.join(['0.1f'] * PER_LONG_LINE)},\n" in files.source


def test_tensors_in_a_file_are_aligned() -> None:
    files = copy_of_weights("f32", FLOATS, "bin")
    assert files.weights is not None
    assert len(files.weights) == 16 + 4 * COUNT
    assert files.weights[16:] == FLOATS.tobytes()
    assert "#define K_WEIGHTS_BYTES 16400" in files.header
    assert "static const float" not in files.source
