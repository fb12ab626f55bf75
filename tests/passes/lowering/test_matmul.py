"""Loops of a matrix product compute what the layer means, for any shapes and register blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import numbers
from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function


@st.composite
def products(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]], tuple[int, ...]]:
    """A random product as IR, the shapes of its operands, and that of its result."""
    rows, columns, depth = (draw(st.sampled_from((1, 2, 3, 5))) for _ in range(3))
    batch = draw(st.lists(st.integers(2, 3), max_size=2))
    flipped = draw(st.booleans())

    def part(matrix: tuple[int, int]) -> tuple[int, ...]:
        kept = batch[draw(st.sampled_from((0, 0, 1))) :]
        return (*(draw(st.sampled_from((n, 1))) for n in kept), *matrix)

    lhs = part((rows, depth))
    rhs = part((columns, depth) if flipped else (depth, columns))
    both = np.broadcast_shapes(lhs[:-2], rhs[:-2])
    result = (*both, rows, columns)
    left, right, out = (f"tensor<{'x'.join(map(str, n))}xf32>" for n in (lhs, rhs, result))
    word = " transposed_rhs" if flipped else ""
    text = f"""
func.func @f(%a: {left}, %b: {right}) -> {out} {{
  %y = npu.matmul %a, %b{word} : ({left}, {right}) -> {out}
  func.return %y : {out}
}}
"""
    return text, [lhs, rhs], result


@settings(max_examples=40, deadline=None)
@given(case=products(), registers=st.sampled_from((0, 16, 32)))
def test_loops_mean_the_same(
    case: tuple[str, list[tuple[int, ...]], tuple[int, ...]], registers: int
) -> None:
    text, shapes, result = case
    ctx = context()
    module = parse(ctx, text)
    feeds = [numbers(*shape, seed=index) for index, shape in enumerate(shapes)]
    (expected,) = run_function(module, "f", feeds)
    assert expected.shape == result
    road = f"npu-bufferize,npu-lower-to-loops{{registers={registers}}}"
    (got,) = run_function(run_passes(ctx, module, road), "f", feeds)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
