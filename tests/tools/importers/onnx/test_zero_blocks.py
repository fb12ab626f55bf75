"""Pruning of zero blocks, as PyTorch exports it, becomes one layer that computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto

from helpers.onnx_models import (
    Array,
    check,
    imported,
    int64,
    layers,
    model,
    node,
    onnxruntime,
    rejected,
)
from npu_dialect.interpreters import run_function
from npu_dialect.npu import PruneZeroBlocksOp

GRIDS = [("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")]


def zebra(
    height: int,
    width: int,
    block: int,
    grid: tuple[str, str] = GRIDS[0],
    *,
    pool: int | None = None,
    ends: tuple[int, int] | None = None,
    scale: float | None = None,
    last: str = "r keep",
    threshold: float = 0.5,
) -> ModelProto:
    """A ReLU and the chain of operators behind it; the keywords change the chain."""
    kernel = [pool or block] * 2
    ragged = height % block or width % block
    scales: Array = np.array([1, 1, scale or block, scale or block], np.float32)
    weights: dict[str, Array] = {
        "t": np.array(threshold, np.float32),
        "scales": scales,
        "starts": int64(0, 0),
        "ends": int64(*(ends or (height, width))),
        "axes": int64(2, 3),
    }
    wide = "wide" if ragged else "keep"
    nodes = [
        node("Relu", "x", "r"),
        node("MaxPool", "r", "m", kernel_shape=kernel, strides=[block] * 2, ceil_mode=1),
        node("GreaterOrEqual", "m t", "ge"),
        node("Cast", "ge", "c", to=TensorProto.FLOAT),
        node(
            "Resize",
            "c _ scales",
            wide,
            mode="nearest",
            coordinate_transformation_mode=grid[0],
            nearest_mode=grid[1],
        ),
    ]
    if ragged:
        nodes.append(node("Slice", "wide starts ends axes", "keep"))
    nodes.append(node("Mul", last))
    return model(nodes, {"x": (1, 3, height, width)}, weights=weights, opset=18)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize(
    ("height", "width", "block"), [(8, 8, 4), (9, 10, 4), (5, 6, 2), (3, 3, 1)]
)
def test_the_chain_is_one_layer(height: int, width: int, block: int, grid: tuple[str, str]) -> None:
    module = check(zebra(height, width, block, grid))
    assert layers(module) == ["npu.relu", "npu.prune_zero_blocks"]
    (op,) = (each for each in module.walk() if isinstance(each, PruneZeroBlocksOp))
    assert (op.size, op.bound) == (block, 0.5)
    assert op.input.has_one_use()


def test_factors_in_the_other_order() -> None:
    assert layers(check(zebra(9, 10, 4, last="keep r")))[-1] == "npu.prune_zero_blocks"


def test_maxima_that_somebody_else_reads_stay() -> None:
    proto = zebra(8, 8, 4)
    proto.graph.output.add().CopyFrom(proto.graph.output[0])
    proto.graph.output[1].name = "m"
    proto.graph.output[1].type.tensor_type.ClearField("shape")
    assert layers(check(proto)) == ["npu.relu", "npu.max_pool2d", "npu.prune_zero_blocks"]


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (zebra(9, 9, 4, pool=5), "square blocks side by side that cover the map"),
        (zebra(8, 8, 4, scale=2.0), "each flag repeated 4 times"),
        (zebra(8, 8, 4, ("align_corners", "floor")), "each flag repeated 4 times"),
        (zebra(9, 9, 4, ends=(9, 8)), "flags of the blocks of the map that they multiply"),
        (zebra(8, 8, 4, last="x keep"), "flags of the blocks of the map that they multiply"),
        (zebra(8, 8, 4, threshold=-1), "a threshold of -1.0; expected a number of at least 0"),
        (zebra(8, 8, 4, threshold=np.nan), "a threshold of nan; expected a number of at least 0"),
    ],
)
def test_other_chains(proto: ModelProto, message: str) -> None:
    rejected(proto, message)


@pytest.mark.parametrize("last", ["Cast", "Where"])
@pytest.mark.parametrize("threshold", [0.5, -0.5])
def test_compared_maxima_that_no_resize_reads(last: str, threshold: float) -> None:
    after = {"Cast": node("Cast", "ge", to=TensorProto.FLOAT), "Where": node("Where", "ge m t")}
    nodes = [
        node("MaxPool", "x", "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("GreaterOrEqual", "m t", "ge"),
        after[last],
    ]
    weights = {"t": np.array(threshold, np.float32)}
    check(model(nodes, {"x": (1, 3, 8, 8)}, weights=weights, opset=18))


STEP, POINT = np.array(0.05, np.float32), np.array(-100, np.int8)


def around(name: str, scale: str, point: str) -> list[NodeProto]:
    """QuantizeLinear and DequantizeLinear: `name` becomes `name`_real."""
    return [
        node("QuantizeLinear", f"{name} {scale} {point}", f"{name}_q", name=f"{name}_q"),
        node("DequantizeLinear", f"{name}_q {scale} {point}", f"{name}_real", name=f"{name}_dq"),
    ]


def quantised(*, everywhere: bool, other: bool = False, flag: float = 1 / 255) -> ModelProto:
    """The chain on a quantised map. `everywhere`: maxima and flags are quantised, too."""
    weights: dict[str, Array] = {
        **{"s": STEP, "p": POINT, "t": np.array(0.5, np.float32)},
        **{"fs": np.array(flag, np.float32), "fp": np.array(-128, np.int8)},
        **{"ys": np.array(0.07, np.float32), "yp": np.array(-90, np.int8)},
        "scales": np.array([1, 1, 4, 4], np.float32),
        **{"starts": int64(0, 0), "ends": int64(9, 10), "axes": int64(2, 3)},
    }
    between, flags = ("_real", "_real") if everywhere else ("", "")
    window = {"kernel_shape": [4, 4], "strides": [4, 4], "ceil_mode": 1}
    grid = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    nodes = [
        *around("x", "s", "p"),
        node("MaxPool", "x_real", "m", **window),
        *(around("m", "s", "p") if everywhere else []),
        node("GreaterOrEqual", f"m{between} t", "ge"),
        node("Cast", "ge", "c", to=TensorProto.FLOAT),
        node("Resize", "c _ scales", "wide", mode="nearest", **grid),
        node("Slice", "wide starts ends axes", "keep"),
        *(around("keep", "fs", "fp") if everywhere else []),
        node("Mul", f"x_real keep{flags}", "z"),
        *around("z", *(("ys", "yp") if other else ("s", "p"))),
        node("Identity", "z_real", "y"),
    ]
    return model(nodes, {"x": (1, 3, 9, 10)}, weights=weights, opset=18)


@pytest.mark.parametrize(
    ("everywhere", "other", "flag", "names"),
    [
        (False, False, 1 / 255, ["quantize", "prune_zero_blocks", "dequantize"]),
        (True, False, 1 / 255, ["quantize", "prune_zero_blocks", "dequantize"]),
        (True, True, 1 / 255, ["quantize", "prune_zero_blocks", "requantize", "dequantize"]),
        # With a flag of 0.889, elements that stay would become smaller.
        (True, False, 0.0035, ["quantize", "prune_zero_blocks", "requantize", "dequantize"]),
    ],
)
def test_integers(everywhere: bool, other: bool, flag: float, names: list[str]) -> None:
    """One layer on integers, bit for bit what onnxruntime computes with floats in between."""
    proto = quantised(everywhere=everywhere, other=other, flag=flag)
    module = imported(proto)
    assert layers(module) == [f"npu.{name}" for name in names]
    (op,) = (each for each in module.walk() if isinstance(each, PruneZeroBlocksOp))
    assert (op.size, op.zero, op.bound) == (4, -100, -90)
    image = np.random.default_rng(3).normal(-0.6, 0.6, (1, 3, 9, 10)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    (want,) = session.run(None, {"x": image})
    (got,) = run_function(module, None, [image])
    np.testing.assert_array_equal(got, want)
    dropped = np.count_nonzero((want == 0).all(axis=(2, 3)))
    assert 0 < np.count_nonzero(want) < want.size - dropped


def test_integers_of_another_scale() -> None:
    proto = quantised(everywhere=True)
    (node_,) = (each for each in proto.graph.node if each.name == "keep_dq")
    node_.input[1] = "s"
    rejected(proto, "expected the scale and zero point that the flags have got")
