"""Convolutions and fully connected layers of floats that load several floats at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.float_layers import FloatConv, constant, dense
from helpers.kernel_roads import DSP, M0, Road, lowered, placed
from helpers.parsing import parse
from npu_dialect import dsp
from npu_dialect.interpreters import run_function
from npu_passes.emit.c import emit
from npu_tools.verifying.emulators import Interface, run_on


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(("", "flash=small", "unroll=40")))
def test_loops(seed: int, depthwise: bool, options: str) -> None:
    """No sum of small integers is rounded, so all bits must be those of the layer."""
    layer = FloatConv(Random(seed), depthwise=depthwise)
    module = parse(layer.text())
    wanted = run_function(module.clone(), "f", layer.inputs)[-1]
    loops = lowered(module, Road(DSP.machine, options))
    np.testing.assert_array_equal(run_function(loops, "f", layer.inputs)[-1], wanted)


def fully_connected(images: int, depth: int, features: int) -> tuple[str, list[np.ndarray]]:
    """A layer of small integers, and its inputs."""
    layer = FloatConv(Random(depth))
    x, weights, bias = (
        layer.numbers(*each) for each in ((images, depth), (features, depth), (features,))
    )
    kinds = [f"memref<{images}x{depth}xf32>", dense(weights), dense(bias)]
    out = f"memref<{images}x{features}xf32>"
    text = (
        f"{constant('w', weights)}{constant('b', bias)}func.func @f(%x: {kinds[0]}, %y: {out}) {{\n"
        f"%w = memref.get_global @w : {kinds[1]}\n%b = memref.get_global @b : {kinds[2]}\n"
        f"npu.fully_connected ins(%x, %w, %b : {', '.join(kinds)}) outs(%y : {out}) then relu\n"
        "func.return\n}"
    )
    return text, [x, np.zeros((images, features), np.float32)]


@pytest.mark.parametrize(
    ("images", "depth", "features"), [(1, 30, 12), (3, 7, 5), (2, 1, 26), (1, 17, 7), (1, 13, 2)]
)
def test_fully_connected(images: int, depth: int, features: int) -> None:
    text, arrays = fully_connected(images, depth, features)
    module = parse(text)
    wanted = run_function(module.clone(), "f", arrays)[-1]
    loops = lowered(module, DSP)
    assert any(isinstance(op, dsp.LoadFloatsOp) for op in loops.walk())
    np.testing.assert_array_equal(run_function(loops, "f", arrays)[-1], wanted)


def test_weights_are_stored_once() -> None:
    """The weights of two filters lie side by side, in a table that replaces the others."""
    loops = lowered(parse(fully_connected(1, 3, 2)[0]), DSP)
    tables = [op for op in loops.ops if isinstance(op, memref.GlobalOp)]
    weights = FloatConv(Random(3))
    weights.numbers(1, 3)
    values = weights.numbers(2, 3)
    (found,) = (op for op in tables if "6xf32" in str(op.type))
    assert list(found.initial_value.get_values()) == list(values.T.reshape(-1))  # pyright: ignore
    assert len(tables) == 2


def test_other_cores_load_single_floats() -> None:
    text = fully_connected(1, 30, 12)[0]
    assert "load_floats" not in str(lowered(parse(text), M0))
    assert "load_floats" not in str(lowered(parse(text), Road(DSP.machine, "registers=16")))


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_machine(seed: int, tmp_path: Path) -> None:
    """The board gives the bits of the interpreter."""
    require(DSP.machine)
    layer = FloatConv(Random(seed), depthwise=seed % 3 == 0)
    loops = lowered(placed(parse(layer.text(on_tensors=True)), layouts=False), DSP)
    (wanted,) = run_function(loops, "f", layer.inputs)
    write_files(tmp_path, emit(loops), "f")
    names = [each.name for each in Interface.read(tmp_path / "f.h").inputs]
    case = dict(zip(names, layer.inputs, strict=True))
    (run,) = run_on(DSP.machine, tmp_path / "f.c", [case], flags=("-O2",)).runs
    (got,) = run.outputs.values()
    np.testing.assert_array_equal(got, wanted.reshape(-1))
