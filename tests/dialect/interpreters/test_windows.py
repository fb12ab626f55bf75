"""The interpreter computes convolutions and pools with random windows as onnxruntime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.ir import Attribute, SSAValue

from helpers.reference import expect_same, interpreted, onnxruntime
from npu_dialect.npu import ActivationAttr, AvgPool2dOp, Conv2dOp, MaxPool2dOp, PoolAttr, ReluOp
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.windows import Axis

Array = npt.NDArray[Any]

SMALL_PADS = st.integers(0, 3)
AXES = st.builds(
    Axis,
    size=st.integers(1, 8),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 6),
    before=SMALL_PADS,
    after=SMALL_PADS,
    dilation=st.integers(1, 3),
).filter(lambda axis: axis.outputs > 0)


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def window(rows: Axis, columns: Axis) -> dict[str, Any]:
    """The attributes of a window, for our layers and for ONNX."""
    return {
        "strides": (rows.stride, columns.stride),
        "pads": (rows.before, columns.before, rows.after, columns.after),
        "dilations": (rows.dilation, columns.dilation),
    }


@settings(max_examples=50, deadline=None)
@given(
    rows=AXES,
    columns=AXES,
    batch=st.integers(1, 2),
    groups=st.integers(1, 3),
    depth=st.integers(1, 3),
    filters=st.integers(1, 2),
    biased=st.booleans(),
)
def test_convolution(
    rows: Axis, columns: Axis, batch: int, groups: int, depth: int, filters: int, biased: bool
) -> None:
    image = random(1, batch, groups * depth, rows.size, columns.size)
    weight = random(2, groups * filters, depth, rows.kernel, columns.kernel)
    inputs = [image, weight, *([random(3, groups * filters)] if biased else [])]
    lists = window(rows, columns)

    def build(args: Any, out: SSAValue | Attribute) -> Conv2dOp:
        bias = args[2] if biased else None
        return Conv2dOp(args[0], args[1], bias, out, groups=groups, **lists)

    expected = onnxruntime("Conv", inputs, group=groups, **lists)
    expect_same(interpreted(inputs, expected.shape, build), expected)


POOL_AXES = AXES.filter(lambda axis: max(axis.before, axis.after) < axis.kernel)
"""Windows for pools: onnxruntime rejects pads as large as the kernel."""


@settings(max_examples=50, deadline=None)
@given(rows=POOL_AXES, columns=POOL_AXES, channels=st.integers(1, 3), ceil=st.booleans())
def test_max_pool(rows: Axis, columns: Axis, channels: int, ceil: bool) -> None:
    kernel, lists = (rows.kernel, columns.kernel), window(rows, columns)
    pool = PoolAttr.of("max", kernel, **lists, ceil_mode=ceil)
    assume(all(axis.meets_input for axis in pool.axes(rows.size, columns.size)))
    image = random(1, 1, channels, rows.size, columns.size)
    expected = onnxruntime("MaxPool", [image], kernel_shape=kernel, ceil_mode=int(ceil), **lists)
    actual = interpreted([image], expected.shape, lambda args, out: MaxPool2dOp(args[0], pool, out))
    np.testing.assert_array_equal(actual, expected)


@settings(max_examples=50, deadline=None)
@given(rows=POOL_AXES, columns=POOL_AXES, ceil=st.booleans(), include=st.booleans())
def test_avg_pool(rows: Axis, columns: Axis, ceil: bool, include: bool) -> None:
    kernel, lists = (rows.kernel, columns.kernel), window(rows, columns)
    pool = PoolAttr.of("avg", kernel, **lists, ceil_mode=ceil, count_include_pad=include)
    assume(all(axis.meets_input for axis in pool.axes(rows.size, columns.size)))
    image = random(1, 1, 2, rows.size, columns.size)
    expected = onnxruntime(
        "AveragePool",
        [image],
        kernel_shape=kernel,
        ceil_mode=int(ceil),
        count_include_pad=int(include),
        **lists,
    )
    expect_same(
        interpreted([image], expected.shape, lambda args, out: AvgPool2dOp(args[0], pool, out)),
        expected,
    )


@settings(max_examples=30, deadline=None)
@given(
    pool_kind=st.sampled_from(["max", "avg"]),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 4),
    pad=st.integers(0, 1),
    clamp=st.booleans(),
    overlap=st.sampled_from([None, *Overlap]),
)
def test_fused_equals_unfused(
    pool_kind: str, kernel: int, stride: int, pad: int, clamp: bool, overlap: Overlap | None
) -> None:
    """A fused layer of convolution, ReLU and pool computes what three single layers compute."""
    pad = min(pad, kernel - 1)
    pool = PoolAttr.of(pool_kind, (kernel, 1), (stride, 2), (pad, 0, 0, 0), ceil_mode=clamp)
    activation = ActivationAttr.clamp(-0.5, 0.75) if clamp else ActivationAttr.relu()
    image, weight, bias = random(1, 1, 2, 9, 7), random(2, 3, 2, 3, 2), random(3, 3)
    inputs = [image, weight, bias]
    conv = interpreted(
        inputs, (1, 3, 7, 6), lambda args, out: Conv2dOp(args[0], args[1], args[2], out)
    )
    low, high = map(np.float32, activation.bounds)
    active: Array = np.minimum(np.maximum(conv, low), high)
    if not clamp:
        relu = interpreted([conv], conv.shape, lambda args, out: ReluOp(args[0], out))
        np.testing.assert_array_equal(relu, active)
    pool_op = MaxPool2dOp if pool.is_max else AvgPool2dOp
    shape = (1, 3, *(axis.outputs for axis in pool.axes(7, 6)))
    unfused = interpreted([active], shape, lambda args, out: pool_op(args[0], pool, out))

    def fused(args: Any, out: SSAValue | Attribute) -> Conv2dOp:
        epilogue = Epilogue(activation=activation, pool=pool, overlap=overlap)
        return Conv2dOp(args[0], args[1], args[2], out, epilogue=epilogue)

    np.testing.assert_array_equal(interpreted(inputs, shape, fused), unfused)
