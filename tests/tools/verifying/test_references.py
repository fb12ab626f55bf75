"""What onnxruntime does with a model that it cannot optimise, or cannot run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto

from helpers.onnx_models import Array, int64, model, node
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.errors import UserError
from npu_tools.verifying.verify import step_of, verify


def between_integers(value: str, name: str) -> list[NodeProto]:
    """QuantizeLinear and DequantizeLinear behind a value."""
    return [
        node("QuantizeLinear", f"{value} s z", f"{name}q", name=f"{name}_q"),
        node("DequantizeLinear", f"{name}q s z", name, name=f"{name}_d"),
    ]


def pooled() -> ModelProto:
    """A dilated average pool of uint8, of which onnxruntime's optimiser makes no valid model."""
    pool = node("AveragePool", "a", "p", kernel_shape=[2, 2], dilations=[2, 2])
    nodes = [*between_integers("x", "a"), pool, *between_integers("p", "y")]
    weights: dict[str, Array] = {"s": np.asarray(0.05, np.float32), "z": np.asarray(120, np.uint8)}
    return model(nodes, {"x": (1, 3, 8, 8)}, weights=weights, opset=21)


def verified(proto: ModelProto, folder: Path) -> bool:
    """Whether C agrees with onnxruntime."""
    path = folder / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    return verify(compile_model(Job(path, "cortex-m4")), None, 0).close


def test_a_model_that_cannot_be_optimised(tmp_path: Path) -> None:
    assert verified(pooled(), tmp_path)


def test_a_model_that_cannot_be_run(tmp_path: Path) -> None:
    pads = int64(0, 0, 7, 0, 0, 0, 7, 0)
    proto = model([node("Pad", "x p", mode="reflect")], {"x": (1, 2, 6, 6)}, weights={"p": pads})
    with pytest.raises(UserError, match="onnxruntime cannot run the model"):
        verified(proto, tmp_path)


def test_steps_of_outputs() -> None:
    """A DequantizeLinear whose result is moved gives steps; one that is multiplied does not."""
    nodes = [
        *between_integers("x", "a"),
        node("Transpose", "a", "b", perm=[1, 0]),
        node("Flatten", "b", "y"),
        node("Mul", "a a", "m"),
    ]
    weights: dict[str, Array] = {"s": np.asarray(0.25, np.float32), "z": np.asarray(0, np.int8)}
    proto = model(nodes, {"x": (2, 3)}, ("a", "y", "m"), weights=weights)
    assert [step_of(proto, name) for name in ("a", "y", "m")] == [0.25, 0.25, None]
