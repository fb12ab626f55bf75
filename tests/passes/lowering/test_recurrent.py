"""Loops of a recurrent layer compute what the layer means, for any cell, shape and operands."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import numbers
from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function
from npu_dialect.npu.enums import Cell
from npu_dialect.npu.layers.recurrent import CELLS

Shape = tuple[int, ...]
FUNCTIONS = ("sigmoid", "tanh", "relu", "softsign", "scaled_tanh [0.75, 0.5]", "clamp [-0.5, 2.0]")


@st.composite
def layers(draw: st.DrawFn) -> tuple[str, list[Shape]]:
    """A random recurrent layer as IR, and the shapes of its operands."""
    steps, batch = draw(st.sampled_from((1, 2, 5))), draw(st.sampled_from((1, 1, 3)))
    units, cell = draw(st.sampled_from((1, 2, 7, 13))), draw(st.sampled_from(Cell))
    rule, flags = CELLS[cell], [f"clip {draw(st.sampled_from((0.5, 1.0)))}"] * draw(st.booleans())
    flags += ["reverse"] * draw(st.booleans())
    shapes: list[Shape] = [(steps, batch, rule.gates * units), (rule.gates * units, units)]
    has_state, has_vector = draw(st.booleans()), draw(st.booleans())
    if has_state:
        shapes += [(batch, units)] * (2 if cell == Cell.LSTM else 1)
    if has_vector and rule.vector:
        shapes.append((units if cell == Cell.GRU else 3 * units,))
        flags += ["linear_before_reset"] * (cell == Cell.GRU)
    flags += ["input_forget"] * (cell == Cell.LSTM and draw(st.booleans()))
    own = cell == Cell.LSTM or (cell == Cell.GRU and not has_vector)
    functions = ", ".join(draw(st.sampled_from(FUNCTIONS)) for _ in range(rule.functions))
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    out = f"tensor<{steps + own}x{batch}x{units}xf32>"
    arguments = ", ".join(f"%a{index}: {kind}" for index, kind in enumerate(types))
    names = ", ".join(f"%a{index}" for index in range(len(types)))
    text = f"""
func.func @f({arguments}) -> {out} {{
  %y = npu.recurrent {names} cell {cell} with [{functions}] {" ".join(flags)}
      : ({", ".join(types)}) -> {out}
  func.return %y : {out}
}}
"""
    return text, shapes


@settings(max_examples=80, deadline=None)
@given(case=layers(), registers=st.sampled_from((0, 16, 32)), unroll=st.sampled_from((1, 256)))
def test_loops_mean_the_same(case: tuple[str, list[Shape]], registers: int, unroll: int) -> None:
    text, shapes = case
    ctx = context()
    module = parse(ctx, text)
    feeds = [numbers(*shape, seed=index) / 4 for index, shape in enumerate(shapes)]
    (expected,) = run_function(module, "f", feeds)
    road = f"npu-bufferize,npu-lower-to-loops{{registers={registers} unroll={unroll}}}"
    (got,) = run_function(run_passes(ctx, module, road), "f", feeds)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
