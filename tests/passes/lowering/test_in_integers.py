"""Without an FPU, layers of mode float and qlinear compute in integers: the same bits."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i16

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import BYTES, DSP, lowered, placed
from helpers.parsing import parse
from npu_dialect import dsp
from npu_dialect.attributes import SELDOM
from npu_dialect.interpreters import run_function
from npu_dialect.npu import FullyConnectedOp
from npu_passes.lowering.kernels.constants import largest_sums_of, symbol_users
from npu_passes.support.common import LoopOptions
from npu_tools.compiling.check import random_inputs

Bytes = NDArray[np.int8]

SOME = np.unique([*range(-128, 128, 3), 126, 127]).astype(np.int8)
LEFT, RIGHT = (each.ravel().copy() for each in np.meshgrid(SOME, SOME, indexing="ij"))
"""Pairs of two bytes. The tests of the plans try all."""
SCALES = [(0.0131, 0.0217, 0.0301), (0.5, 0.25, 1.0), (0.75, 0.125, 0.5), (2.0, 3.0, 1.0)]
"""Scales of two maps and of their sum or product: of some, many results are ties."""
POINTS = [(-3, 7, 0), (-128, 127, 5), (0, 0, -128)]


def in_loops(module: ModuleOp) -> ModuleOp:
    """The loops of a core without an FPU; all floats in them are computed seldom."""
    found = lowered(module, BYTES)
    for op in found.walk():
        if isinstance(op, arith.MulfOp | arith.AddfOp | arith.DivfOp):
            assert is_seldom(op)
    return found


def is_seldom(op: arith.MulfOp | arith.AddfOp | arith.DivfOp) -> bool:
    """Whether an op is in a branch that is hardly ever taken."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.IfOp) and SELDOM.is_on(parent):
            return True
        parent = parent.parent_op()
    return False


def check_pairs(layer: str) -> None:
    """Check a layer of two maps for pairs of bytes."""
    kind = f"memref<{len(LEFT)}xi8, #npu.sram>"
    text = f"""
    func.func @f(
      %a: {kind} {{sram.input}}, %b: {kind} {{sram.input}}, %y: {kind} {{sram.output}}
    ) {{
      {layer.format(inputs=f"ins(%a, %b : {kind}, {kind}) outs(%y : {kind})")}
      func.return
    }}"""
    (wanted,) = run_function(parse(text), None, [LEFT, RIGHT])
    (found,) = run_function(in_loops(parse(text)), None, [LEFT, RIGHT])
    assert len(np.unique(wanted)) > 50
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", ["float", "qlinear"])
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("scales", SCALES)
def test_sums(scales: tuple[float, ...], points: tuple[int, ...], mode: str) -> None:
    numbers = f"scales {list(scales)} zero_points {list(points)} mode {mode}"
    check_pairs(f"npu.quantized_add {{inputs}} {numbers}")


@pytest.mark.parametrize("mode", ["float", "qlinear"])
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("scales", [(0.0131, 0.0217, 0.0301), (0.25, 0.125, 0.0625)])
def test_products(scales: tuple[float, ...], points: tuple[int, ...], mode: str) -> None:
    numbers = f"with mul scales {list(scales)} zero_points {list(points)} mode {mode}"
    check_pairs(f"npu.quantized_binary {{inputs}} {numbers}")


@pytest.mark.parametrize("window", ["kernel [5, 4]", "kernel [3, 3] pads [1, 1, 1, 1]"])
@pytest.mark.parametrize("included", ["", "count_include_pad"])
@pytest.mark.parametrize("mode", ["float", "qlinear"])
@pytest.mark.parametrize("scales", [(0.0131, 0.0217), (0.5, 0.25), (1.0, 0.05)])
def test_averages(scales: tuple[float, ...], mode: str, included: str, window: str) -> None:
    """Of a whole map, and of windows that padding cuts, also with many ties."""
    kind, shape = "memref<1x40x5x4xi8, #npu.sram>", (1, 40, 5, 4)
    out = (1, 40, 1, 1) if "5" in window else shape
    result = f"memref<{'x'.join(map(str, out))}xi8, #npu.sram>"
    text = f"""
    func.func @f(%x: {kind} {{sram.input}}, %y: {result} {{sram.output}}) {{
      npu.quantized_avg_pool2d ins(%x : {kind}) outs(%y : {result}) {window.split(" pads")[0]}
        strides [1, 1] {"pads" + window.split("pads")[1] if "pads" in window else ""} {included}
        scales {list(scales)} zero_points [-3, 7] mode {mode}
      func.return
    }}"""
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    x[0, :20] = np.clip(x[0, :20], -8, 3)
    (wanted,) = run_function(parse(text), None, [x])
    (found,) = run_function(in_loops(parse(text)), None, [x])
    assert len(np.unique(wanted)) > 5
    np.testing.assert_array_equal(found, wanted)


@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.integers(0, 10**6), st.booleans())
def test_networks(seed: int, halves: bool) -> None:
    """Chains of any layers; sums of weights of maps of bytes are always integers."""
    elements = (i16,) if halves else ()
    maker = ChainMaker(Random(seed), elements=elements) if halves else ChainMaker(Random(seed))
    module = maker.network(2)
    inputs = random_inputs(module, seed)
    wanted = list(run_function(module, None, inputs))
    loops = lowered(placed(module), BYTES)
    for one, other in zip(run_function(loops, None, inputs), wanted, strict=True):
        np.testing.assert_array_equal(one.reshape(other.shape), other)


def test_sums_that_go_on_have_no_bound() -> None:
    """The sums of other channels come first, so the weights of these say nothing."""
    text = """
    "memref.global"() <{sym_name = "w", sym_visibility = "private", constant,
        type = memref<4x8xi8, #npu.flash>, initial_value = dense<1> : tensor<4x8xi8>}> : () -> ()
    func.func @f(%x: memref<1x8xi8, #npu.sram>, %y: memref<1x4xi8, #npu.sram>) {
      %w = memref.get_global @w : memref<4x8xi8, #npu.flash>
      npu.fully_connected ins(%x, %w : memref<1x8xi8, #npu.sram>, memref<4x8xi8, #npu.flash>)
        outs(%y : memref<1x4xi8, #npu.sram>) zero_points [-3, 0]
        then requantize scales [0.01] zero_point 5 mode float
      func.return
    }"""
    module = parse(text)
    (layer,) = (op for op in module.walk() if isinstance(op, FullyConnectedOp))
    options = LoopOptions(0, 512, users=symbol_users(module.walk()))
    assert largest_sums_of(layer, options) == [8 * 130] * 4
    layer.accumulate = UnitAttr()
    assert largest_sums_of(layer, options) is None


def test_only_without_an_fpu() -> None:
    module = placed(ChainMaker(Random(3)).network(4))
    assert any(isinstance(op, dsp.RescaleOp) for op in lowered(module.clone(), BYTES).walk())
    assert not any(isinstance(op, dsp.RescaleOp) for op in lowered(module, DSP).walk())
