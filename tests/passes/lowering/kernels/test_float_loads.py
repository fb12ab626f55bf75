"""Convolutions and fully connected layers of floats that load several floats at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp

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


def pointwise(
    depth: int, filters: int, width: int, known: bool = True, clause: str = " then relu"
) -> tuple[str, list[np.ndarray]]:
    """A 1x1 layer of random numbers, some of them special, and its inputs."""
    layer, random = FloatConv(Random(depth), exact=False), np.random.default_rng(depth)
    weights, bias = layer.numbers(filters, depth, 1, 1), layer.numbers(filters)
    x = layer.numbers(1, depth, 3, width)
    x.reshape(-1)[random.choice(x.size, 4, replace=False)] = [np.nan, np.inf, -np.inf, -0.0]
    bias[0] = -0.0
    kinds = [f"memref<1x{depth}x3x{width}xf32>", dense(weights), dense(bias)]
    out = f"memref<1x{filters}x3x{width}xf32>"
    bias_of = "" if known else f", %b: {kinds[2]}"
    text = (
        f"{constant('w', weights)}{constant('b', bias)}"
        f"func.func @f(%x: {kinds[0]}{bias_of}, %y: {out}) {{\n"
        f"%w = memref.get_global @w : {kinds[1]}\n"
        + (f"%b = memref.get_global @b : {kinds[2]}\n" if known else "")
        + f"npu.conv2d ins(%x, %w, %b : {', '.join(kinds)}) outs(%y : {out}){clause}\n"
        "func.return\n}"
    )
    extra = [] if known else [bias]
    return text, [x, *extra, np.zeros((1, filters, 3, width), np.float32)]


@pytest.mark.parametrize(
    ("depth", "filters", "width"), [(8, 16, 48), (16, 32, 24), (5, 8, 12), (1, 6, 10), (3, 9, 5)]
)
@pytest.mark.parametrize("clause", ["", " then relu"])
def test_sums_with_registers_of_their_own(
    depth: int, filters: int, width: int, clause: str
) -> None:
    """A row of outputs is stored at once, with the bits of loops that store each."""
    text, arrays = pointwise(depth, filters, width, clause=clause)
    loops, others = (lowered(parse(text), Road(DSP.machine, each)) for each in ("", "flash=small"))
    stores = [op for op in loops.walk() if isinstance(op, dsp.StoreFloatsOp)]
    starts = next(op for op in loops.walk() if isinstance(op, dsp.LoadFloatsOp))
    assert stores
    assert "store_floats" not in str(others)
    assert [each.first for each in stores] == list(
        range(starts.first, starts.first + starts.words, stores[0].words)
    )
    found, wanted = (run_function(each, "f", arrays)[-1] for each in (loops, others))
    np.testing.assert_array_equal(found.view(np.int32), wanted.view(np.int32))


def test_first_values_must_be_known() -> None:
    """A bias that is an argument has no table, so sums have no registers of their own."""
    assert "store_floats" not in str(lowered(parse(pointwise(8, 16, 48, known=False)[0]), DSP))
    assert "store_floats" not in str(lowered(parse(pointwise(17, 16, 48)[0]), DSP))


def test_the_bias_is_in_one_table() -> None:
    """The bias of each filter, once for each column of a block, in place of the bias."""
    loops = lowered(parse(pointwise(8, 16, 48)[0]), DSP)
    tables = {op.sym_name.data: op for op in loops.ops if isinstance(op, memref.GlobalOp)}
    assert set(tables) == {"f_weights", "f_starts"}
    values = np.array(tables["f_starts"].initial_value.get_values())  # pyright: ignore
    layer = FloatConv(Random(8), exact=False)
    layer.numbers(16, 8, 1, 1)
    bias = layer.numbers(16)
    bias[0] = -0.0
    np.testing.assert_array_equal(values.reshape(16, 8), np.repeat(bias[:, None], 8, axis=1))


def on_the_board(module: ModuleOp, x: np.ndarray, level: str, folder: Path) -> np.ndarray:
    """The output of a module on the emulated machine."""
    write_files(folder, emit(module), "f")
    (name,) = (each.name for each in Interface.read(folder / "f.h").inputs)
    (run,) = run_on(DSP.machine, folder / "f.c", [{name: x}], flags=(level,)).runs
    (found,) = run.outputs.values()
    return found


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_sums_with_registers_of_their_own_on_a_machine(level: str, tmp_path: Path) -> None:
    """Sums that are rounded, and special numbers, have the same bits in other blocks."""
    require(DSP.machine)
    layer = FloatConv(Random(2), exact=False)
    w, b, x = (layer.numbers(*each) for each in ((16, 8, 1, 1), (16,), (1, 8, 2, 24)))
    x[0, :3, 1, 5] = np.nan, np.inf, -np.inf
    text = (
        "func.func @f(%x: tensor<1x8x2x24xf32>) -> tensor<1x16x2x24xf32> {\n"
        f"%w = arith.constant dense<{w.astype(float).tolist()}> : tensor<16x8x1x1xf32>\n"
        f"%b = arith.constant dense<{b.astype(float).tolist()}> : tensor<16xf32>\n"
        "%y = npu.conv2d %x, %w, %b then relu : (tensor<1x8x2x24xf32>, tensor<16x8x1x1xf32>, "
        "tensor<16xf32>) -> tensor<1x16x2x24xf32>\n"
        "func.return %y : tensor<1x16x2x24xf32>\n}"
    )
    bits = list[list[int]]()
    for each in ("", "flash=small"):
        module = lowered(placed(parse(text), layouts=False), Road(DSP.machine, each))
        assert ("store_floats" in str(module)) == (each == "")
        folder = tmp_path / (each or "fast")
        folder.mkdir()
        bits.append(on_the_board(module, x, level, folder).view(np.int32).tolist())
    assert bits[0] == bits[1]


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
