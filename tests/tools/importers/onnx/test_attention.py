"""Attention against ONNX's reference: heads, groups, masks, pasts, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import (
    NEWEST,
    Array,
    expected,
    imported,
    int64,
    layers,
    model,
    node,
    numbers,
    rejected,
)
from npu_dialect.interpreters import run_function

Operands = dict[str, Array]


def same(inputs: str, maps: Operands, constants: Operands, outputs: str = "y", **more: Any) -> None:
    """Compare a node with the reference; the newest opset has all attributes."""
    shapes = {name: array.shape for name, array in maps.items()}
    proto = model(
        [node("Attention", inputs, outputs, **more)], shapes, outputs.split(), constants, NEWEST
    )
    theirs = expected(proto, maps)
    module = imported(proto)
    assert set(layers(module)) <= {
        f"npu.{name}" for name in "mul map matmul add softmax reshape transpose concat".split()
    }
    ours = run_function(module, None, list(maps.values()))
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Operands, dict[str, Any]]:
    """Queries, keys and values of random sizes, with some of the node's attributes."""
    batch, groups, repeats = (draw(st.integers(1, 2)) for _ in range(3))
    queries, keys, depth, width = (draw(st.integers(1, 5)) for _ in range(4))
    shapes = {
        "q": (batch, groups * repeats, queries, depth),
        "k": (batch, groups, keys, depth),
        "v": (batch, groups, keys, width),
    }
    attributes: dict[str, Any] = {"is_causal": draw(st.integers(0, 1))}
    if draw(st.booleans()):
        attributes |= {"scale": 0.3, "softcap": 0.7}
    if draw(st.booleans()):
        attributes["left_window_size"] = draw(st.integers(-1, 3))
        attributes["right_window_size"] = draw(st.integers(-1, 3))
    if draw(st.booleans()):
        attributes |= {"q_num_heads": groups * repeats, "kv_num_heads": groups}
        shapes = {name: (b, s, h * d) for name, (b, h, s, d) in shapes.items()}
    return {n: numbers(*shape, seed=i) for i, (n, shape) in enumerate(shapes.items())}, attributes


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_sizes(case: tuple[Operands, dict[str, Any]]) -> None:
    maps, attributes = case
    same("q k v", maps, {}, **attributes)


def maps(keys: int = 6) -> Operands:
    """Two batches, four heads of queries and two of keys, five queries."""
    return {
        "q": numbers(2, 4, 5, 8),
        "k": numbers(2, 2, keys, 8, seed=1),
        "v": numbers(2, 2, keys, 3, seed=2),
    }


SEEN = np.random.default_rng(0).random((5, 6)) < 0.6


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(
    "mask",
    [
        numbers(5, 6),
        numbers(4, 5, 6),
        numbers(2, 1, 5, 6),
        numbers(5, 4),
        SEEN,
        np.zeros((5, 6), np.bool_),
        np.broadcast_to(SEEN, (2, 1, 5, 6)),
    ],
)
def test_constant_masks(mask: Array, causal: int) -> None:
    same("q k v mask", maps(), {"mask": mask}, is_causal=causal)


@pytest.mark.parametrize("shape", [(5, 6), (4, 5, 6), (2, 1, 5, 6)])
def test_computed_masks(shape: tuple[int, ...]) -> None:
    same("q k v mask", {**maps(), "mask": numbers(*shape, seed=5)}, {}, is_causal=0)
    same("q k v mask", {**maps(), "mask": numbers(*shape, seed=5)}, {}, left_window_size=3)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mode", range(4))
def test_past_and_other_outputs(mode: int, causal: int) -> None:
    past = {"pk": numbers(2, 2, 3, 8, seed=7), "pv": numbers(2, 2, 3, 3, seed=8)}
    same(
        "q k v _ pk pv",
        {**maps(), **past},
        {},
        "y present_key present_value scores",
        qk_matmul_output_mode=mode,
        is_causal=causal,
    )


@pytest.mark.parametrize("causal", [0, 1])
def test_lengths(causal: int) -> None:
    same("q k v _ _ _ n", maps(), {"n": int64(4, 6)}, is_causal=causal)


@pytest.mark.parametrize(
    ("shapes", "attributes", "message"),
    [
        (((1, 2, 3, 4),) * 3, {"softcap": -2.0}, "softcap -2.0; expected a positive number"),
        (((1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 4)), {}, "expected [B, H, S, D]"),
        (((1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)), {}, "heads that divides H"),
        (((1, 3, 4),) * 3, {}, "for 0 heads"),
        (((1, 3, 4),) * 3, {"q_num_heads": 3, "kv_num_heads": 2}, "for 3 heads"),
        (((1, 2, 3, 4),) * 3, {"qk_matmul_output_mode": 4}, "expected 0 to 3"),
        (((1, 1, 20000, 1),) * 3, {"is_causal": 1}, "expected less than 2^27 elements"),
    ],
)
def test_rejected(
    shapes: tuple[tuple[int, ...], ...], attributes: dict[str, Any], message: str
) -> None:
    inputs = dict(zip("qkv", shapes, strict=True))
    rejected(model([node("Attention", "q k v", **attributes)], inputs, opset=23), message)


def test_wrong_masks_are_rejected() -> None:
    shapes = {name: array.shape for name, array in maps().items()}
    layer = node("Attention", "q k v mask")
    double = model([layer], shapes, weights={"mask": np.zeros((5, 6))}, opset=23)
    rejected(double, "mask 'mask' holds float64")
    whole = model([layer], shapes, weights={"mask": np.zeros((5, 4), np.int64)}, opset=23)
    rejected(whole, "mask 'mask' holds int64")
    wide = model([layer], shapes, weights={"mask": numbers(5, 7)}, opset=23)
    rejected(wide, "of shape [5, 7]; expected")
    short = model([layer], {**shapes, "mask": (5, 4)}, opset=23)
    rejected(short, "a computed mask of shape [5, 4]; expected 6 columns")
