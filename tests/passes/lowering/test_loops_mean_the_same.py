"""Every layer computes the same before and after npu-lower-to-loops, for random shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.memref import LoadOp, MemRef
from xdsl.parser import Parser

from helpers.layers_text import (
    LayerText,
    convolutions,
    dense_layers,
    layer_text,
    moving_layers,
    pools,
    simple_layers,
)
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_dialect.npu.layer import LayerOp
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass

LAYERS = st.one_of(
    convolutions(), convolutions(), pools(), dense_layers(), simple_layers(), moving_layers()
)


def context() -> Context:
    ctx = Context()
    for dialect in (Builtin, Func, MemRef, NPU):
        ctx.load_dialect(dialect)
    return ctx


def run(module: ModuleOp, layer: LayerText, seed: int) -> np.ndarray:
    """The output of a layer's function on seeded inputs; the output buffer starts poisoned."""
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in layer.inputs]
    out = np.full(layer.output, np.float32(1e30))
    return run_function(module, None, [*inputs, out])[-1]


@settings(max_examples=80, deadline=None)
@given(layer=LAYERS, registers=st.sampled_from([0, 16, 32]), unroll=st.sampled_from([1, 8, 256]))
def test_loops_mean_the_same(layer: LayerText, registers: int, unroll: int) -> None:
    ctx = context()
    module = Parser(ctx, layer.text).parse_module()
    module.verify()
    expected = run(module.clone(), layer, 7)
    LowerToLoopsPass(registers=registers, unroll=unroll).apply(ctx, module)
    module.verify()
    assert not any(isinstance(op, LayerOp) for op in module.walk())
    np.testing.assert_allclose(run(module, layer, 7), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["max_pool", "avg_pool", "avg_pool count_include_pad"])
@pytest.mark.parametrize("registers", [0, 32])
def test_windows_that_padding_cuts(kind: str, registers: int) -> None:
    """The first and the last window of a row have one column on real input, two elements apart."""
    name, *include = kind.split()
    words = ["[2, 2] by [2, 2] padded [0, 1, 0, 1] dilated [1, 2]", *include]
    clauses = f"strides [1, 1] pads [1, 1, 1, 1] then {name} {' '.join(words)} overlap recompute"
    layer = layer_text("npu.conv2d", clauses, [(1, 2, 6, 9), (4, 2, 3, 3), (4,)], (1, 4, 3, 5))
    ctx = context()
    module = Parser(ctx, layer.text).parse_module()
    module.verify()
    expected = run(module.clone(), layer, 7)
    LowerToLoopsPass(registers=registers).apply(ctx, module)
    np.testing.assert_allclose(run(module, layer, 7), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("clauses", "extent"),
    [
        ("axis 3 [0 to 4 each 3]", 15),
        ("axis 3 [4 to 0 by 2 each 2, none, 1]  fill 3.5", 8),
        ("axis 3 [0, 2, 1, 4, 3, 3, 0, 4, 2, 0]", 10),
        ("axis 3 [0, none, 2, 1, 4, 3, none, 0, 4, 2, 0] fill 3.5", 11),
        ("axis 2 [2 to 0 each 2, none] axis 3 [1, 3, 0, 4, 0 to 4] fill 3.5", 9),
    ],
)
def test_picked_elements(clauses: str, extent: int) -> None:
    """Runs and tables of indices, with and without elements that are filled."""
    height = 7 if "axis 2" in clauses else 3
    layer = layer_text("npu.pick", clauses, [(1, 2, 3, 5)], (1, 2, height, extent))
    ctx = context()
    module = Parser(ctx, layer.text).parse_module()
    expected = run(module.clone(), layer, 7)
    LowerToLoopsPass().apply(ctx, module)
    np.testing.assert_array_equal(run(module, layer, 7), expected)


@pytest.mark.parametrize("kind", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("pads", [0, 1])
@pytest.mark.parametrize("size", [2, 3])
def test_filters_share_inputs_at_the_border(kind: str, pads: int, size: int) -> None:
    """Columns of a pooling window are written out where padding of either is at its border."""
    extent = (6 + 2 * pads - size) // size + 1
    clauses = (
        f"strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] groups 1 then relu then {kind} "
        f"[{size}, {size}] by [{size}, {size}] padded {[pads] * 4} dilated [1, 1]"
    )
    inputs: list[tuple[int, ...]] = [(1, 2, 6, 6), (4, 2, 3, 3), (4,)]
    layer = layer_text("npu.conv2d", clauses, inputs, (1, 4, extent, extent))
    ctx = context()
    module = Parser(ctx, layer.text).parse_module()
    expected = run(module.clone(), layer, 7)
    LowerToLoopsPass(registers=32, unroll=256).apply(ctx, module)
    np.testing.assert_allclose(run(module, layer, 7), expected, rtol=1e-5, atol=1e-5)


STRIPS = {
    "one strip": ((3, 3), "pads [1, 1, 1, 1]", (3, 3), 9 + 9),
    "one strip, by two": ((6, 6), "strides [2, 2] pads [0, 0, 1, 1]", (3, 3), 36 + 9),
    "three strips": ((6, 6), "pads [1, 1, 1, 1]", (6, 6), 18 + 24 + 18 + 3 * 9),
    "a loop over strips": ((25, 5), "pads [1, 1, 1, 1]", (25, 5), 10 + 20 + 15 + 6 + 2 * 9),
    "no padding": ((13, 6), "", (11, 4), 30 + 24 + 2 * 9),
    "dilated": ((9, 6), "pads [2, 2, 2, 2] dilations [2, 2]", (9, 6), None),
}
"""The rows and columns of a map, what a depthwise convolution is like, those of its output, and the
loads of inputs and weights that its strips with code of their own take."""


@pytest.mark.parametrize("rest", ["", " then relu", " then add residual first then relu"])
@pytest.mark.parametrize("name", STRIPS)
def test_strips_of_rows(name: str, rest: str) -> None:
    """A strip loads each element of its input once; products and their order stay the same."""
    size, clauses, outputs, loads = STRIPS[name]
    output = (2, 3, *outputs)
    inputs: list[tuple[int, ...]] = [(2, 3, *size), (3, 1, 3, 3), (3,)]
    inputs += [output] if "residual" in rest else []
    layer = layer_text("npu.conv2d", f"{clauses} groups 3{rest}", inputs, output)
    ctx = context()
    strips = Parser(ctx, layer.text).parse_module()
    blocks = strips.clone()
    LowerToLoopsPass(registers=32, flash="small").apply(ctx, blocks)
    LowerToLoopsPass(registers=32, flash="fast").apply(ctx, strips)
    np.testing.assert_array_equal(run(strips, layer, 7), run(blocks, layer, 7))
    found, small = (
        sum(isinstance(op, LoadOp) for op in module.walk()) - 1  # without the bias
        for module in (strips, blocks)
    )
    assert small != found
    assert rest.startswith(" then add") or loads in (None, found)


def test_a_wrong_kernel_is_noticed() -> None:
    """The comparison notices a mistake: another stride gives other numbers."""
    ctx = context()
    text = (
        "func.func @f(%a0 : memref<1x1x5x5xf32>, %a1 : memref<1x1x3x3xf32>, "
        "%out : memref<1x1x3x3xf32>) {\n"
        "  npu.conv2d ins(%a0, %a1 : memref<1x1x5x5xf32>, memref<1x1x3x3xf32>) "
        "outs(%out : memref<1x1x3x3xf32>) STRIDES\n  func.return\n}\n"
    )
    shapes = ((1, 1, 5, 5), (1, 1, 3, 3))
    plain = LayerText(text.replace("STRIDES", "strides [1, 1]"), shapes, (1, 1, 3, 3))
    padded = LayerText(
        text.replace("STRIDES", "strides [2, 2] pads [1, 1, 1, 1]"), shapes, (1, 1, 3, 3)
    )
    first, second = (
        run(Parser(ctx, layer.text).parse_module(), layer, 7) for layer in (plain, padded)
    )
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(first, second, rtol=1e-5)


def test_what_is_no_number_passes_an_activation() -> None:
    """A NaN stays a NaN, as in onnxruntime and the interpreter: a ReLU hides no earlier fault."""
    ctx = context()
    text = (
        "func.func @f(%a0 : memref<4xf32>, %out : memref<4xf32>) {\n"
        "  npu.clamp ins(%a0 : memref<4xf32>) outs(%out : memref<4xf32>) low 0.0 high 6.0\n"
        "  func.return\n}\n"
    )
    module = Parser(ctx, text).parse_module()
    values = np.array([np.nan, -1.0, 7.0, 2.0], np.float32)
    expected = [np.nan, 0.0, 6.0, 2.0]
    for lowered in (False, True):
        if lowered:
            LowerToLoopsPass().apply(ctx, module)
        out = run_function(module, None, [values, np.zeros(4, np.float32)])[-1]
        np.testing.assert_array_equal(out, expected)
