"""Convolutions and fully connected layers of floats on vectors."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.float_layers import FloatConv, constant, dense
from helpers.kernel_roads import DSP, VECTORS, Road, lowered, placed
from helpers.parsing import parse
from npu_dialect.interpreters import run_function
from npu_passes.emit.c import emit
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
    layer = FloatConv(Random(depth))
    x, weights, bias = (
        layer.numbers(*each) for each in ((images, depth), (features, depth), (features,))
    )
    kinds = [f"memref<{images}x{depth}xf32>", dense(weights), dense(bias)]
    out = f"memref<{images}x{features}xf32>"
    module = parse(
        f"{constant('w', weights)}{constant('b', bias)}func.func @f(%x: {kinds[0]}, %y: {out}) {{\n"
        f"%w = memref.get_global @w : {kinds[1]}\n%b = memref.get_global @b : {kinds[2]}\n"
        f"npu.fully_connected ins(%x, %w, %b : {', '.join(kinds)}) outs(%y : {out}) then relu\n"
        "func.return\n}"
    )
    arrays = [x, np.zeros((images, features), np.float32)]
    wanted = run_function(module.clone(), "f", arrays)[-1]
    loops = lowered(module, VECTORS)
    assert "mve.fma_scalar" in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", arrays)[-1], wanted)


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_machine(seed: int, tmp_path: Path) -> None:
    """The vectors of the board give the bits of the interpreter, and those of scalar loops."""
    layer = FloatConv(Random(seed), exact=False, depthwise=seed % 3 == 0)
    layers = placed(parse(layer.text(on_tensors=True)), layouts=False)
    vectors = lowered(layers, VECTORS)
    (wanted,) = run_function(vectors, "f", layer.inputs)
    for road in (VECTORS, DSP):
        require(road.machine)
        loops = vectors if road is VECTORS else lowered(layers, road)
        folder = tmp_path / road.machine
        folder.mkdir()
        write_files(folder, emit(loops), "f")
        names = [each.name for each in Interface.read(folder / "f.h").inputs]
        case = dict(zip(names, layer.inputs, strict=True))
        flags = ("-O2", "-ffp-contract=fast")
        (run,) = run_on(road.machine, folder / "f.c", [case], flags=flags).runs
        (found,) = run.outputs.values()
        np.testing.assert_array_equal(found, wanted.ravel(), str(road))
