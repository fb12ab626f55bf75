"""Convolutions and fully connected layers of floats on vectors."""

from __future__ import annotations

from math import inf
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    f32,
)

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.float_layers import ORDERS, Array, FloatConv, constant, dense
from helpers.kernel_roads import DSP, VECTORS, Road, lowered, placed
from helpers.parsing import parse
from npu_dialect.interpreters import run_function
from npu_dialect.windows import Axis
from npu_passes.emit.c import emit
from npu_passes.lowering.kernels.float_windows import FloatWindowsKernel
from npu_plans.kernels import neighbour_plan
from npu_plans.kernels.float_window_plan import FloatWindowPlan, Layer
from npu_tools.verifying.emulators import Interface, run_on


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(("", "flash=small")))
def test_loops(seed: int, depthwise: bool, options: str) -> None:
    """No sum of small integers is rounded, so all bits must be those of the layer."""
    layer = FloatConv(Random(seed), depthwise=depthwise)
    module = parse(layer.text())
    module.verify()
    wanted = run_function(module.clone(), "f", layer.inputs)[-1]
    loops = lowered(module, Road("cortex-m55", options))
    assert "mve.store" in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", layer.inputs)[-1], wanted)


@pytest.mark.parametrize(("images", "depth", "features"), [(1, 30, 10), (3, 7, 5), (2, 1, 26)])
def test_fully_connected(images: int, depth: int, features: int) -> None:
    module = connected(layer := FloatConv(Random(depth)), images, depth, features)
    arrays = [*layer.inputs, np.zeros((images, features), np.float32)]
    wanted = run_function(module.clone(), "f", arrays)[-1]
    loops = lowered(module, VECTORS)
    assert "mve.fma_scalar" in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", arrays)[-1], wanted)


def test_weights_near_a_pointer() -> None:
    """An iteration over channels has as many weights as loads reach without an addition."""
    loops = str(lowered(connected(FloatConv(Random(1)), 1, 30, 24), VECTORS))
    assert "scf.for %ic = %c0 to %c30 step %c5 iter_args" in loops


def connected(layer: FloatConv, images: int, depth: int, features: int) -> ModuleOp:
    """A fully connected layer of random numbers; those of its input become the layer's."""
    x, weights, bias = (
        layer.numbers(*each) for each in ((images, depth), (features, depth), (features,))
    )
    layer.inputs = [x]
    kinds = [f"memref<{images}x{depth}xf32>", dense(weights), dense(bias)]
    out = f"memref<{images}x{features}xf32>"
    return parse(
        f"{constant('w', weights)}{constant('b', bias)}func.func @f(%x: {kinds[0]}, %y: {out}) {{\n"
        f"%w = memref.get_global @w : {kinds[1]}\n%b = memref.get_global @b : {kinds[2]}\n"
        f"npu.fully_connected ins(%x, %w, %b : {', '.join(kinds)}) outs(%y : {out}) then relu\n"
        "func.return\n}"
    )


@pytest.mark.parametrize(
    "tail", ["then sigmoid", "accumulate", "then max_pool [3, 3] by [2, 2] overlap accumulate"]
)
def test_general_loops(tail: str) -> None:
    """What does not happen on vectors stays with the general loops."""
    rows = 2 if "pool" in tail else 5
    x, y = "memref<1x4x5x5xf32>", f"memref<1x8x{rows}x{rows}xf32>"
    weights = np.ones((8, 4, 1, 1), np.float32)
    module = parse(
        f"{constant('w', weights)}func.func @f(%x: {x}, %y: {y}) {{\n"
        f"%w = memref.get_global @w : {dense(weights)}\n"
        f"npu.conv2d ins(%x, %w : {x}, {dense(weights)}) outs(%y : {y}) {tail}\nfunc.return\n}}"
    )
    assert "mve" not in str(lowered(module, VECTORS)).replace('"mve"', "")


IN_ROWS = ORDERS[:2]
"""The orders of axes in which the elements of a row are neighbours."""


@pytest.fixture
def neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs in lanes for all layers that can have them."""

    def dear(_rows: Axis, _columns: Axis, _filters: int = 1) -> float:
        return inf

    monkeypatch.setattr(neighbour_plan, "channels_in_lanes", dear)
    monkeypatch.setattr(neighbour_plan, "filters_in_lanes", dear)


@pytest.mark.usefixtures("neighbours")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_neighbours(seed: int, filters: int) -> None:
    """Neighbouring outputs in lanes, of any size, with gaps, residuals and several filters."""
    layer = FloatConv(Random(seed), depthwise=True, orders=IN_ROWS, most=3, filters=filters)
    module = parse(layer.text())
    wanted = run_function(module.clone(), "f", layer.inputs)[-1]
    loops = lowered(module, Road("cortex-m55"))
    assert "mve.splat" in str(loops)
    assert "mve.fma " not in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", layer.inputs)[-1], wanted)


@pytest.mark.usefixtures("neighbours")
def test_residual_in_place() -> None:
    """An output that overwrites its residual is computed once."""
    x = "memref<1x2x5x6xf32>"
    weights = np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3)
    module = parse(
        f"{constant('w', weights)}func.func @f(%x: {x}, %y: {x}) {{\n"
        f"%w = memref.get_global @w : {dense(weights)}\n"
        f"npu.conv2d ins(%x, %w, %y : {x}, {dense(weights)}, {x}) outs(%y : {x}) "
        "pads [1, 1, 1, 1] groups 2 then add residual second\nfunc.return\n}"
    )
    arrays = [np.arange(60, dtype=np.float32).reshape(1, 2, 5, 6) for _ in range(2)]
    wanted = run_function(module.clone(), "f", [each.copy() for each in arrays])[-1]
    loops = lowered(module, VECTORS)
    assert "mve.fma_scalar" in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", arrays)[-1], wanted)


@pytest.mark.usefixtures("neighbours")
@pytest.mark.parametrize(("options", "form"), [("", "fma_scalar"), ("flash=small", "fma")])
def test_small_code(options: str, form: str) -> None:
    """Strips that padding cuts have code of their own, so small code has channels in lanes."""
    layer = FloatConv(Random(4), depthwise=True, orders=IN_ROWS, most=3)
    loops = str(lowered(parse(layer.text()), Road("cortex-m55", options)))
    assert f"mve.{form} " in loops


@pytest.mark.usefixtures("neighbours")
@pytest.mark.parametrize(("weight", "bias"), [(np.inf, 1.0), (np.nan, 1.0), (1.0, -0.0)])
def test_no_products_with_padding(weight: float, bias: float) -> None:
    """Zero times these weights, or added to this bias, would not be what leaving it out is."""
    x = "memref<1x2x5x6xf32>"
    weights, biases = np.full((2, 1, 3, 3), weight, np.float32), np.array([1.0, bias], np.float32)
    kinds = f"{x}, {dense(weights)}, {dense(biases)}"
    constants = constant("w", np.ones_like(weights)) + constant("b", biases)
    module = parse(
        f"{constants}func.func @f(%x: {x}, %y: {x}) {{\n"
        f"%w = memref.get_global @w : {dense(weights)}\n"
        f"%b = memref.get_global @b : {dense(biases)}\n"
        f"npu.conv2d ins(%x, %w, %b : {kinds}) outs(%y : {x}) pads [1, 1, 1, 1] groups 2\n"
        "func.return\n}"
    )
    values = next(op for op in module.ops if isinstance(op, memref.GlobalOp))
    kind = TensorType(f32, weights.shape)
    values.properties["initial_value"] = DenseIntOrFPElementsAttr(
        kind, BytesAttr(weights.tobytes())
    )
    loops = str(lowered(module, VECTORS))
    assert "mve.fma " in loops
    assert "mve.fma_scalar" not in loops


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[FloatWindowPlan]:
    """Windows of outputs in lanes for all layers that can have them; their plans."""
    found: list[FloatWindowPlan] = []
    build = FloatWindowsKernel.build

    def noted(kernel: FloatWindowsKernel) -> None:
        found.append(kernel.plan)
        build(kernel)

    monkeypatch.setattr(FloatWindowsKernel, "build", noted)

    def dear(_layer: Layer) -> float:
        return inf

    monkeypatch.setattr(Layer, "filters_in_lanes", dear)
    return found


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 10**6))
def test_windows(windows: list[FloatWindowPlan], seed: int) -> None:
    """Windows of any size in lanes, with and without a pool, in any layout, with gaps."""
    layer = FloatConv(Random(seed), inside=True)
    module = parse(layer.text())
    wanted = run_function(module.clone(), "f", layer.inputs)[-1]
    windows.clear()
    loops = lowered(module, Road("cortex-m55"))
    assume(windows)
    np.testing.assert_array_equal(run_function(loops, "f", layer.inputs)[-1], wanted)


FIRST = """func.func @f(%x: tensor<1x1x14x22xf32>) -> tensor<1x3x5x9xf32> {{
%w = arith.constant dense<{weights}> : tensor<3x1x5x5xf32>
%b = arith.constant dense<[0.5, -0.25, 0.0]> : tensor<3xf32>
%y = npu.conv2d %x, %w, %b then relu then max_pool [2, 2] by [2, 2] :
  (tensor<1x1x14x22xf32>, tensor<3x1x5x5xf32>, tensor<3xf32>) -> tensor<1x3x5x9xf32>
func.return %y : tensor<1x3x5x9xf32>
}}"""
"""A first layer as that of LeNet-5: nine windows in a row, so a block computes some again."""


def test_pooled_windows(windows: list[FloatWindowPlan], tmp_path: Path) -> None:
    """The board gives the interpreter's bits, those of scalar loops; NaN stays NaN."""
    layer = FloatConv(Random(1), exact=False)
    image = layer.numbers(1, 1, 14, 22)
    image[0, 0, 6, 11] = np.nan
    image[0, 0, 13, 0] = -inf
    text = FIRST.format(weights=layer.numbers(3, 1, 5, 5).astype(float).tolist())
    layers = placed(parse(text), layouts=False)
    same_bits(layers, [image], tmp_path)
    assert [(plan.height, plan.width) for plan in windows] == [(2, 2)]


@pytest.mark.parametrize("weights", [(1, 1, 5, 3), (2, 1, 2, 10)])
def test_few_filters(windows: list[FloatWindowPlan], weights: tuple[int, ...]) -> None:
    """One filter, and windows of many taps, have no pool, and no other form."""
    filters, _, height, width = weights
    x, y = "memref<1x1x20x20xf32>", f"memref<1x{filters}x{21 - height}x{21 - width}xf32>"
    values = np.arange(filters * height * width, dtype=np.float32).reshape(weights)
    module = parse(
        f"{constant('w', values)}func.func @f(%x: {x}, %y: {y}) {{\n"
        f"%w = memref.get_global @w : {dense(values)}\n"
        f"npu.conv2d ins(%x, %w : {x}, {dense(values)}) outs(%y : {y})\nfunc.return\n}}"
    )
    image = np.arange(400, dtype=np.float32).reshape(1, 1, 20, 20) % 7
    arrays = [image, np.zeros((1, filters, 21 - height, 21 - width), np.float32)]
    wanted = run_function(module.clone(), "f", arrays)[-1]
    loops = lowered(module, VECTORS)
    assert windows
    np.testing.assert_array_equal(run_function(loops, "f", arrays)[-1], wanted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 13, 36, 51])
def test_machine_of_windows(windows: list[FloatWindowPlan], seed: int, tmp_path: Path) -> None:
    """As `test_machine`, for windows of outputs in lanes."""
    agree(FloatConv(Random(seed), exact=False, inside=True), tmp_path)
    assert windows


@pytest.mark.slow
@pytest.mark.usefixtures("neighbours")
@pytest.mark.parametrize("seed", range(3))
def test_machine_of_neighbours(seed: int, tmp_path: Path) -> None:
    """As `test_machine`, for outputs in lanes."""
    agree(FloatConv(Random(seed), exact=False, depthwise=True, most=3, filters=seed + 1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_machine(seed: int, tmp_path: Path) -> None:
    """The vectors of the board give the bits of the interpreter, and those of scalar loops."""
    agree(FloatConv(Random(seed), exact=False, depthwise=seed % 3 == 0), tmp_path)


def agree(layer: FloatConv, tmp_path: Path) -> None:
    """Run a layer on the board, on vectors and without; all bits must be the interpreter's."""
    layers = placed(parse(layer.text(on_tensors=True)), layouts=False)
    same_bits(layers, layer.inputs, tmp_path)


def same_bits(layers: ModuleOp, inputs: list[Array], tmp_path: Path) -> None:
    """Run layers on the board, on vectors and without; all bits must be the interpreter's."""
    vectors = lowered(layers, VECTORS)
    (wanted,) = run_function(vectors, "f", inputs)
    for road in (VECTORS, DSP):
        require(road.machine)
        loops = vectors if road is VECTORS else lowered(layers, road)
        folder = tmp_path / road.machine
        folder.mkdir()
        write_files(folder, emit(loops), "f")
        names = [each.name for each in Interface.read(folder / "f.h").inputs]
        case = dict(zip(names, inputs, strict=True))
        flags = ("-O2", "-ffp-contract=fast")
        (run,) = run_on(road.machine, folder / "f.c", [case], flags=flags).runs
        (found,) = run.outputs.values()
        np.testing.assert_array_equal(found, wanted.ravel(), str(road))
