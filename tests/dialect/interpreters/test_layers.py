"""The interpreter computes layers without windows as onnxruntime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError

from helpers.reference import (
    expect_same,
    interpreted,
    onnxruntime,
    parsed,
    run_on_tensors,
)
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.pointwise import clamp
from npu_dialect.npu import (
    ActivationAttr,
    AddOp,
    BatchNormOp,
    ClampOp,
    ConcatOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    LrnOp,
    MulOp,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
    TransposeOp,
)
from npu_dialect.npu.epilogue import Epilogue

Array = npt.NDArray[Any]
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
MAPS = st.lists(st.integers(1, 5), min_size=4, max_size=4).map(tuple)


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(shape=SHAPES, low=st.floats(-2, 0, width=32), high=st.floats(0, 2, width=32))
def test_activations(shape: tuple[int, ...], low: float, high: float) -> None:
    array = random(1, *shape)
    relu = interpreted([array], shape, lambda args, out: ReluOp(args[0], out))
    np.testing.assert_array_equal(relu, onnxruntime("Relu", [array]))
    clamp = interpreted([array], shape, lambda args, out: ClampOp(args[0], low, high, out))
    bounds = [np.array(low, np.float32), np.array(high, np.float32)]
    np.testing.assert_array_equal(clamp, onnxruntime("Clip", [array, *bounds]))


@settings(max_examples=25, deadline=None)
@given(shape=MAPS)
def test_global_pools(shape: tuple[int, ...]) -> None:
    array, reduced = random(1, *shape), (*shape[:2], 1, 1)
    top = interpreted([array], reduced, lambda args, out: GlobalMaxPool2dOp(args[0], out))
    np.testing.assert_array_equal(top, onnxruntime("GlobalMaxPool", [array]))
    mean = interpreted([array], reduced, lambda args, out: GlobalAvgPool2dOp(args[0], out))
    expect_same(mean, onnxruntime("GlobalAveragePool", [array]))


@settings(max_examples=25, deadline=None)
@given(shape=SHAPES, data=st.data())
def test_add_and_mul_broadcast(shape: tuple[int, ...], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(shape)))
    other = [data.draw(st.sampled_from([1, extent])) for extent in shape[cut:]]
    inputs = [random(1, *shape), random(2, *other)]
    if data.draw(st.booleans()):
        inputs.reverse()
    actual = interpreted(inputs, shape, lambda args, out: AddOp(args[0], args[1], out))
    np.testing.assert_array_equal(actual, onnxruntime("Add", inputs))
    actual = interpreted(inputs, shape, lambda args, out: MulOp(args[0], args[1], out))
    np.testing.assert_array_equal(actual, onnxruntime("Mul", inputs))


@settings(max_examples=25, deadline=None)
@given(shape=SHAPES, data=st.data())
def test_concat_transpose_softmax_reshape(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    perm = data.draw(st.permutations(range(len(shape))))
    extents = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    parts = [random(i, *shape[:axis], n, *shape[axis + 1 :]) for i, n in enumerate(extents)]
    expected = onnxruntime("Concat", parts, axis=axis)
    joined = interpreted(parts, expected.shape, lambda args, out: ConcatOp(args, axis, out))
    np.testing.assert_array_equal(joined, expected)
    array = random(9, *shape)
    expected = onnxruntime("Transpose", [array], perm=perm)
    turned = interpreted([array], expected.shape, lambda args, out: TransposeOp(args[0], perm, out))
    np.testing.assert_array_equal(turned, expected)
    soft = interpreted([array], shape, lambda args, out: SoftmaxOp(args[0], axis, out))
    expect_same(soft, onnxruntime("Softmax", [array], axis=axis))


def test_reshape() -> None:
    array = random(1, 2, 3, 4)
    (flat,) = run_on_tensors([array], (6, 4), lambda args, out: ReshapeOp(args[0], out))
    np.testing.assert_array_equal(flat, array.reshape(6, 4))


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 3),
    features=st.integers(1, 9),
    outputs=st.integers(1, 9),
    biased=st.booleans(),
    relu=st.booleans(),
)
def test_fully_connected(batch: int, features: int, outputs: int, biased: bool, relu: bool) -> None:
    inputs = [random(1, batch, features), random(2, outputs, features)]
    if biased:
        inputs.append(random(3, outputs))
    expected = onnxruntime("Gemm", inputs, transB=1)
    if relu:
        expected = onnxruntime("Relu", [expected])
    epilogue = Epilogue(activation=ActivationAttr.relu() if relu else None)

    def build(args: Any, out: Any) -> FullyConnectedOp:
        bias: SSAValue | None = args[2] if biased else None
        return FullyConnectedOp(args[0], args[1], bias, out, epilogue=epilogue)

    expect_same(interpreted(inputs, expected.shape, build), expected)


@settings(max_examples=25, deadline=None)
@given(shape=st.one_of(MAPS, st.tuples(st.integers(1, 3), st.integers(1, 5))))
def test_batch_norm(shape: tuple[int, ...]) -> None:
    channels = shape[1]
    variance = np.abs(random(5, channels)) + np.float32(0.1)
    parameters = [random(seed, channels) for seed in (2, 3, 4)]
    inputs = [random(1, *shape), *parameters, variance]
    expected = onnxruntime("BatchNormalization", inputs, epsilon=1e-3)
    actual = interpreted(
        inputs,
        shape,
        lambda args, out: BatchNormOp(args[0], args[1], args[2], args[3], args[4], 1e-3, out),
    )
    expect_same(actual, expected)


def lrn_by_the_book(array: Array, size: int, *, alpha: float, beta: float, bias: float) -> Array:
    """LRN by ONNX's definition, element by element.

    ONNX's reference implementation takes only the first N channels into account.
    """
    result = np.empty_like(array)
    for n, c, *place in np.ndindex(array.shape):
        low, high = max(0, c - (size - 1) // 2), min(array.shape[1] - 1, c + size // 2)
        total = sum(float(array[n, i, *place]) ** 2 for i in range(low, high + 1))
        result[n, c, *place] = array[n, c, *place] / (bias + alpha / size * total) ** beta
    return result


@settings(max_examples=25, deadline=None)
@given(
    shape=MAPS,
    size=st.integers(1, 11),
    alpha=st.floats(2**-9, 2, width=32),
    beta=st.sampled_from([0.5, 0.75, 1.0, 2.5]),
    bias=st.floats(0.5, 3, width=32),
)
def test_lrn(shape: tuple[int, ...], size: int, alpha: float, beta: float, bias: float) -> None:
    array = random(1, *shape) * np.float32(3)
    factors = {"alpha": alpha, "beta": beta, "bias": bias}
    actual = interpreted([array], shape, lambda args, out: LrnOp(args[0], size, out, **factors))
    expect_same(actual, lrn_by_the_book(array, size, **factors))
    if size % 2:  # onnxruntime rejects even sizes
        expect_same(actual, onnxruntime("LRN", [array], size=size, **factors))


def test_lrn_of_large_numbers() -> None:
    """If a square overflows, only the channels whose window contains it become zero."""
    array = np.array([1e25, 3, -2, 0, np.inf], np.float32).reshape(1, 5, 1, 1)
    factors = {"alpha": 1.0, "beta": 0.5, "bias": 0.75}
    with np.errstate(all="ignore"):
        (actual,) = run_on_tensors(
            [array], array.shape, lambda args, out: LrnOp(args[0], 3, out, **factors)
        )
    third = -2 / np.sqrt(0.75 + 13 / 3)
    expect_same(actual.ravel(), np.array([0, 0, third, 0, np.nan], np.float32))


def test_integers_saturate_bounds_and_have_no_average() -> None:
    module = parsed(
        """
        func.func @f(%x: tensor<1x1x1x4xi8>) -> tensor<1x1x1x4xi8> {
          %0 = npu.relu %x : tensor<1x1x1x4xi8> -> tensor<1x1x1x4xi8>
          %1 = npu.clamp %0 low -inf high 1.0e+03 : tensor<1x1x1x4xi8> -> tensor<1x1x1x4xi8>
          %2 = npu.max_pool2d %1 kernel [1, 3] pads [0, 1, 0, 1]
              : tensor<1x1x1x4xi8> -> tensor<1x1x1x4xi8>
          func.return %2 : tensor<1x1x1x4xi8>
        }
        func.func @average(%x: tensor<1x1x1x4xi8>) -> tensor<1x1x1x1xi8> {
          %0 = npu.global_avg_pool2d %x : tensor<1x1x1x4xi8> -> tensor<1x1x1x1xi8>
          func.return %0 : tensor<1x1x1x1xi8>
        }
        """
    )
    array = np.array([-128, 5, 0, -3], np.int8).reshape(1, 1, 1, 4)
    (result,) = run_function(module, "f", [array])
    np.testing.assert_array_equal(result.ravel(), np.array([5, 5, 5, 0], np.int8))
    with pytest.raises(InterpretationError, match="expected an average of floats"):
        run_function(module, "average", [array])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-1000, 1000, [-128, 0, 127]), (200, 300, [127] * 3), (-300, -200, [-128] * 3)],
)
def test_clamps_beyond_the_range_of_integers(low: float, high: float, expected: list[int]) -> None:
    array = np.array([-128, 0, 127], np.int8)
    assert clamp(array, low, high).tolist() == expected
