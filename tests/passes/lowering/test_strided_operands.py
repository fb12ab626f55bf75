"""Binary layers and reductions of buffers with gaps, which keep their axes in the loops."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from helpers.reference import parsed
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass

SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)
PERMUTED = st.permutations(range(4))


def with_gaps(shape: tuple[int, ...], order: list[int], gap: int) -> str:
    """A buffer type of a shape, with its axes in another order in memory, and gaps."""
    steps, pitch = [0] * len(shape), 1
    for axis in [axis for axis in order if axis < len(shape)]:
        steps[axis] = pitch
        pitch *= shape[axis] + gap
    return f"memref<{'x'.join(map(str, shape))}xf32, strided<{steps}>>"


def check(layer: str, clauses: str, inputs: list[str], out: str) -> None:
    """Compare the loops of a layer with its meaning."""
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    arguments = ", ".join(f"%a{i} : {kind}" for i, kind in enumerate(inputs))
    module = parsed(
        f"func.func @f({arguments}, %out : {out}) {{\n"
        f"  {layer} ins({names} : {', '.join(inputs)}) outs(%out : {out}) {clauses}\n"
        "  func.return\n}"
    )
    shapes = [tuple(map(int, kind[7:].split("xf32")[0].split("x"))) for kind in (*inputs, out)]
    arrays = [
        np.arange(prod(shape), dtype=np.float32).reshape(shape) * np.float32(0.5) + index
        for index, shape in enumerate(shapes)
    ]
    wanted = run_function(module.clone(), None, arrays)[-1]
    context = Context()
    context.load_dialect(NPU)
    LowerToLoopsPass().apply(context, module)
    module.verify()
    np.testing.assert_allclose(run_function(module, None, arrays)[-1], wanted, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, order=PERMUTED, gap=st.integers(0, 2), data=st.data())
def test_binary(shape: tuple[int, ...], order: list[int], gap: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(shape) - 1))
    other = tuple(data.draw(st.sampled_from([1, extent])) for extent in shape[cut:])
    first = with_gaps(shape, data.draw(PERMUTED), gap)
    second = with_gaps(other, data.draw(PERMUTED), data.draw(st.integers(0, 2)))
    operands = data.draw(st.permutations([first, second]))
    check("npu.binary", "with sub", list(operands), with_gaps(shape, order, gap))


@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, order=PERMUTED, gap=st.integers(0, 2), data=st.data())
def test_reduce(shape: tuple[int, ...], order: list[int], gap: int, data: st.DataObject) -> None:
    axes = sorted(data.draw(st.sets(st.sampled_from(range(len(shape))))))
    after = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    source = with_gaps(shape, data.draw(PERMUTED), data.draw(st.integers(0, 2)))
    check("npu.reduce", f"with log_sum_exp axes {axes}", [source], with_gaps(after, order, gap))
