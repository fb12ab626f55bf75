"""Loops of a normalisation compute what the layer means, for any axes, also in place."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import numbers
from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function

Shape = tuple[int, ...]


@st.composite
def layers(draw: st.DrawFn) -> tuple[str, list[Shape]]:
    """A random normalisation between two ReLUs as IR, and the shapes of its operands."""
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 5, 9)), min_size=1, max_size=4)))
    number = st.integers(0, len(shape) - 1)
    axes = sorted(draw(st.sets(number, min_size=1, max_size=len(shape))))
    count = draw(st.integers(0, 2))
    operands: list[Shape] = [shape]
    for _ in range(count):
        kept = shape[draw(number) :]
        operands.append(tuple(draw(st.sampled_from((n, 1))) for n in kept))
    types = [f"tensor<{'x'.join(map(str, n))}xf32>" for n in operands]
    names = ("x", "s", "b")[: len(operands)]
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in zip(names, types, strict=True))
    inputs = ", ".join(("%r", *(f"%{name}" for name in names[1:])))
    kinds = types[0] if count == 0 else f"({', '.join(types)})"
    word = " rms" if draw(st.booleans()) else ""
    text = f"""
func.func @f({arguments}) -> {types[0]} {{
  %r = npu.relu %x : {types[0]} -> {types[0]}
  %n = npu.normalize {inputs} axes {axes} epsilon 0.01{word} : {kinds} -> {types[0]}
  %y = npu.relu %n : {types[0]} -> {types[0]}
  func.return %y : {types[0]}
}}
"""
    return text, operands


@settings(max_examples=60, deadline=None)
@given(case=layers())
def test_loops_mean_the_same(case: tuple[str, list[Shape]]) -> None:
    text, shapes = case
    ctx = context()
    module = parse(ctx, text)
    feeds = [numbers(*shape, seed=index) for index, shape in enumerate(shapes)]
    (expected,) = run_function(module, "f", feeds)
    for road in ("npu-bufferize", "npu-bufferize,npu-lower-to-loops"):
        after = run_passes(ctx, module, road)
        assert "sram.alloc" not in str(after)
        (got,) = run_function(after, "f", feeds)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
