"""Maps of bytes, pruned by a real threshold and as bit planes: on tensors, off the chip, in C."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.c_harness import run_c
from helpers.zero_blocks.spilled_network import LOOPS, OFFSETS, TILES, Array, inputs, lowered, moved
from npu_dialect.dma import StartOp
from npu_dialect.interpreters import Counters, run_function
from npu_dialect.npu import PruneZeroBlocksOp
from npu_passes.emit.c import emit
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.installed import available_passes, context

THRESHOLD = 1.5
PRUNE = f"npu-prune-zero-blocks{{block-size=4 threshold={THRESHOLD}}}"
EVERYWHERE = f"npu-prune-zero-blocks{{where=all block-size=4 threshold={THRESHOLD}}}"
ELEMENTS = {"i8": (-128, np.int8), "ui8": (0, np.uint8)}


def network(element: str, *, known: bool = True, clamp: str = "") -> str:
    """Two convolutions; the first one's map has a scale of 0.25, and leaves the chip."""
    zero = -100 if clamp else ELEMENTS[element][0]
    meaning = f", npu.scale = 0.25 : f32, npu.zero_point = {zero} : i64" if known else ""
    first, wide = (f"tensor<1x8x{size}x{element}>" for size in ("18x20", "20x22"))
    return f"""
builtin.module attributes {{npu.target = #npu.target<"small",
    {{sram_bytes = 2560 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}}>}} {{
  func.func @net(%image: tensor<1x2x20x22xi8> {{npu.name = "image"}},
      %w1: tensor<8x2x3x3xi8>, %w2: tensor<8x8x3x3xi8>)
      -> ({wide} {{npu.name = "y"}}) {{
    %a = npu.conv2d %image, %w1 strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0]
      then requantize scales [0.5] zero_point {zero} mode float {clamp}
      {{npu.layer = "c1", npu.value = "a"{meaning}}}
      : (tensor<1x2x20x22xi8>, tensor<8x2x3x3xi8>) -> {first}
    %b = npu.conv2d %a, %w2 strides [1, 1] pads [2, 2, 2, 2] zero_points [{zero}, 0]
      then requantize scales [0.05] zero_point 3 mode float {{npu.layer = "c2", npu.value = "b"}}
      : ({first}, tensor<8x8x3x3xi8>) -> {wide}
    func.return %b : {wide}
  }}
}}"""


def arrays() -> list[Array]:
    """Whole numbers, as bytes."""
    return [array.astype(np.int8) for array in inputs()]


@pytest.mark.parametrize(
    ("element", "clamp"),
    [
        pytest.param("ui8", "", marks=pytest.mark.slow),
        ("i8", "then clamp [-100.0, 127.0]"),
    ],
)
def test_pruned_on_the_way(element: str, clamp: str) -> None:
    """Results are as on tensors; the emitted C moves the same bytes. `clamp`: a separate ReLU."""
    text = network(element, clamp=clamp)
    everywhere = lowered(EVERYWHERE, text=text)
    (op,) = (each for each in everywhere.walk() if isinstance(each, PruneZeroBlocksOp))
    zero = -100 if clamp else ELEMENTS[element][0]
    assert (op.zero, op.bound) == (zero, zero + 6)
    want = run_function(everywhere, None, arrays())[-1]
    after, ran = Counters(), Counters()
    module = lowered(TILES, PRUNE, "npu-compress-spills", "npu-double-buffer", OFFSETS, text=text)
    got = run_function(module, None, arrays(), after)[-1]
    np.testing.assert_array_equal(got, want)
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    (printed,) = run_c(
        emit(module),
        "net",
        arrays(),
        [want.shape],
        output_types=[want.dtype.name],
        counters=ran,
    )
    np.testing.assert_array_equal(printed, want)
    assert ran == after


@pytest.mark.slow
def test_bit_planes() -> None:
    """On tensors, in tiles with bit planes, and in C; interpreter and C move the same bytes."""
    text = network("i8")
    want = run_function(lowered(text=text), None, arrays())[-1]
    plain, after, ran = Counters(), Counters(), Counters()
    run_function(lowered(TILES, OFFSETS, text=text), None, arrays(), plain)
    module = lowered(
        TILES, "npu-compress-spills{code=planes}", "npu-double-buffer", OFFSETS, text=text
    )
    assert any(isinstance(op, StartOp) and op.planes is not None for op in module.walk())
    got = run_function(module, None, arrays(), after)[-1]
    np.testing.assert_array_equal(got, want)
    assert moved(after) < moved(plain)
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    (printed,) = run_c(
        emit(module),
        "net",
        arrays(),
        [want.shape],
        output_types=[want.dtype.name],
        counters=ran,
    )
    np.testing.assert_array_equal(printed, want)
    assert ran == after


def test_less_moves() -> None:
    """With pruning less moves, and the results differ."""
    before, after = Counters(), Counters()
    steps = ("npu-compress-spills", OFFSETS)
    exact = run_function(lowered(TILES, *steps, text=network("i8")), None, arrays(), before)[-1]
    module = lowered(TILES, PRUNE, *steps, text=network("i8"))
    got = run_function(module, None, arrays(), after)[-1]
    assert (got != exact).any()
    assert moved(after) < moved(before)


@pytest.mark.parametrize("clamp", ["then clamp [-128.0, 20.0]", "then clamp [-101.0, 20.0]"])
def test_no_relu(clamp: str) -> None:
    """A map that may be below zero is left alone."""
    assert "prune" not in str(lowered(EVERYWHERE, text=network("i8", clamp=clamp)))
    assert "prune" not in str(lowered(TILES, PRUNE, text=network("i8", clamp=clamp)))


def test_nobody_says_the_scale() -> None:
    assert "prune" not in str(lowered(EVERYWHERE, text=network("i8", known=False)))
    assert "prune" not in str(lowered(TILES, PRUNE, text=network("i8", known=False)))
