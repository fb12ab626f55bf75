"""Products as the quantiser expects them: the same numbers as before, and a good int8 network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper

from helpers.quantized.build import onnxruntime_says
from helpers.small_models import model_of
from npu_tools.quantizing.plain_gemms import plain_gemms
from npu_tools.quantizing.quantize_model import Recipe, quantised

ROWS, DEPTH, COLUMNS = 3, 8, 4
ADDENDS = ((), (1,), (COLUMNS,), (1, COLUMNS), (ROWS, 1), (ROWS, COLUMNS), None)
FACTORS = (0.0, 0.5, 1.0, 2.0)


def product(
    addend: tuple[int, ...] | None, alpha: float, beta: float, *, transposed: bool
) -> ModelProto:
    """A Gemm with an addend of a shape, or none."""
    rng = np.random.default_rng(4)
    shape = (COLUMNS, DEPTH) if transposed else (DEPTH, COLUMNS)
    weights = {"w": rng.standard_normal(shape, np.float32)}
    if addend is not None:
        weights["c"] = np.asarray(3 * rng.standard_normal(addend), np.float32)
    options: dict[str, Any] = {"alpha": alpha, "beta": beta, "transB": int(transposed)}
    node = helper.make_node("Gemm", ["input", *weights], ["y"], "g", **options)
    return model_of([node], weights, (ROWS, DEPTH), "y")


@settings(max_examples=40, deadline=None)
@given(
    addend=st.sampled_from(ADDENDS),
    alpha=st.sampled_from(FACTORS[1:]),
    beta=st.sampled_from(FACTORS),
    transposed=st.booleans(),
)
def test_same_numbers(
    addend: tuple[int, ...] | None, alpha: float, beta: float, *, transposed: bool
) -> None:
    model = product(addend, alpha, beta, transposed=transposed)
    feeds = {"input": np.random.default_rng(5).standard_normal((ROWS, DEPTH), np.float32)}
    wanted = onnxruntime_says(model, feeds)
    plain_gemms(model)
    np.testing.assert_allclose(onnxruntime_says(model, feeds), wanted, rtol=1e-5, atol=1e-5)
    gemm, *more = model.graph.node
    factors = (each.f for each in gemm.attribute if each.name in ("alpha", "beta"))
    assert set(factors) <= {1.0}
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    assert [shapes[name] for name in gemm.input[2:]] in ([], [(COLUMNS,)])
    read = {name for node in model.graph.node for name in node.input}
    assert set(shapes) <= read
    assert [node.op_type for node in more] == ["Add"] * len(more)


@pytest.mark.parametrize("format_", ["qdq", "operators"])
@pytest.mark.parametrize(("addend", "alpha", "beta"), [((COLUMNS,), 0.5, 2.0), ((1,), 1.0, 1.0)])
def test_the_quantised_network_adds_what_the_model_adds(
    format_: str, addend: tuple[int, ...], alpha: float, beta: float, tmp_path: Path
) -> None:
    model = product(addend, alpha, beta, transposed=False)
    rng = np.random.default_rng(6)
    runs = [{"input": rng.standard_normal((ROWS, DEPTH), np.float32)} for _ in range(20)]
    assert format_ in ("qdq", "operators")
    _, network = quantised(model, runs, Recipe(format=format_))
    wanted = np.stack([onnxruntime_says(model, feeds) for feeds in runs])
    got = np.stack([onnxruntime_says(network, feeds) for feeds in runs])
    noise = np.mean((got - wanted) ** 2) / np.mean(wanted**2)
    assert -10 * np.log10(noise) > 30
