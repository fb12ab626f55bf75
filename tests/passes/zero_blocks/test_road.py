"""Spilled maps in blocks, from layers to C: same results, fewer bytes, as predicted."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from helpers.c_harness import run_c
from helpers.zero_blocks.spilled_network import (
    LOOPS,
    OFFSETS,
    PRUNE,
    SHAPE,
    TEXT,
    TILES,
    inputs,
    interpreted,
    lowered,
    moved,
)
from npu_dialect.interpreters import Counters, run_function
from npu_passes.emit.c import emit
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.reports.off_chip import off_chip
from npu_tools.shared.installed import available_passes, context


@pytest.mark.parametrize("double", ["npu-double-buffer", ""])
def test_lossless(double: str) -> None:
    """The bits are the same, and fewer bytes move. The static count is the worst case."""
    steps = [double] if double else []
    want, _ = interpreted(lowered())
    plain, before = interpreted(lowered(TILES, *steps, OFFSETS))
    module = lowered(TILES, "npu-compress-spills", *steps, OFFSETS)
    got, after = interpreted(module)
    np.testing.assert_array_equal(plain, want)
    np.testing.assert_array_equal(got, want)
    assert moved(after) < 0.7 * moved(before)
    assert asdict(before) | {"feature_map_read_bytes": 0, "feature_map_write_bytes": 0} == asdict(
        after
    ) | {"feature_map_read_bytes": 0, "feature_map_write_bytes": 0}
    (function,) = module.ops
    worst = off_chip(function)
    assert worst is not None
    index = worst.total.feature_map_bytes - moved(before)
    assert 0 < index < 0.03 * moved(before)


def test_nothing_is_zero() -> None:
    """If nothing is zero, all blocks and the index move, which is what was counted statically."""
    module = lowered(TILES, "npu-compress-spills", OFFSETS)
    counters = Counters()
    ones = [np.ones_like(array) for array in inputs()]
    run_function(module, None, ones, counters)
    (function,) = module.ops
    worst = off_chip(function)
    assert worst is not None
    _, before = interpreted(lowered(TILES, OFFSETS))
    assert moved(before) < moved(counters) <= worst.total.feature_map_bytes


@pytest.mark.slow
def test_emitted_c() -> None:
    module = lowered(TILES, "npu-compress-spills", "npu-double-buffer", OFFSETS)
    want, counters = interpreted(module)
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    ran = Counters()
    (got,) = run_c(emit(module), "net", inputs(), [SHAPE], counters=ran)
    np.testing.assert_array_equal(got, want)
    assert ran == counters


@pytest.mark.parametrize(("share", "compressed"), [(0.0019, False), (0.002, True), (0.5, True)])
def test_break_even(share: float, compressed: bool) -> None:
    """1 / (32 * 16) = 0.195 % for float32 and b = 4."""
    marked = TEXT.replace('npu.value = "b"', f'npu.value = "b", npu.zero_blocks = {share} : f64')
    text = str(lowered(TILES, "npu-compress-spills", text=marked))
    assert ("%b_index" in text) == compressed
    assert "%a_index" in text
    reason = f"{100 * share:.3g} % of it are expected in zero blocks, an index pays from 0.195 % on"
    assert (f'npu.not_compressed = "{reason}"' in text) != compressed


def test_tiles_that_cut_blocks() -> None:
    text = str(lowered("npu-bufferize,npu-spill-maps,npu-tile-loops", "npu-compress-spills"))
    assert 'npu.not_compressed = "its tiles of 20 x ' in text


@pytest.mark.slow
def test_pruned_on_the_way() -> None:
    """Results are as with pruning on tensors, and fewer blocks move."""
    everywhere = lowered("npu-prune-zero-blocks{where=all block-size=4 threshold=9.5}")
    want, _ = interpreted(everywhere)
    exact, lossless = interpreted(lowered(TILES, "npu-compress-spills", OFFSETS))
    module = lowered(TILES, PRUNE, "npu-compress-spills", "npu-double-buffer", OFFSETS)
    got, counters = interpreted(module)
    np.testing.assert_array_equal(got, want)
    assert (got != exact).any()
    assert moved(counters) < moved(lossless)
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    ran = Counters()
    (printed,) = run_c(emit(module), "net", inputs(), [SHAPE], counters=ran)
    np.testing.assert_array_equal(printed, want)
    assert ran == counters


def test_threshold_zero_changes_nothing() -> None:
    want, _ = interpreted(lowered())
    steps = (TILES, "npu-prune-zero-blocks{threshold=0.0}", "npu-compress-spills", OFFSETS)
    got, _ = interpreted(lowered(*steps))
    np.testing.assert_array_equal(got, want)


def test_pruned_on_tensors_in_tiles() -> None:
    """The pruning layer itself runs in tiles, which cut no block."""
    everywhere = lowered("npu-prune-zero-blocks{where=all block-size=4 threshold=9.5}")
    want, _ = interpreted(everywhere)
    text = str(everywhere)
    got, _ = interpreted(lowered(TILES, "npu-compress-spills", OFFSETS, text=text))
    np.testing.assert_array_equal(got, want)


BYTES = "tensor<1x8x20x22xi8>"
SMALLER = TEXT.split("func.func")[0].replace("12288", "2560")
QUANTISED = f"""{SMALLER}
  func.func @net(%image: tensor<1x2x20x22xi8> {{npu.name = "image"}},
      %w1: tensor<8x2x3x3xi8>, %w2: tensor<8x8x3x3xi8>) -> ({BYTES} {{npu.name = "y"}}) {{
    %a = npu.conv2d %image, %w1 strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0]
      then requantize scales [0.5] zero_point -128 mode float {{npu.layer = "c1", npu.value = "a"}}
      : (tensor<1x2x20x22xi8>, tensor<8x2x3x3xi8>) -> tensor<1x8x18x20xi8>
    %b = npu.conv2d %a, %w2 strides [1, 1] pads [2, 2, 2, 2] zero_points [-128, 0]
      then requantize scales [0.05] zero_point 3 mode float {{npu.layer = "c2", npu.value = "b"}}
      : (tensor<1x8x18x20xi8>, tensor<8x8x3x3xi8>) -> {BYTES}
    func.return %b : {BYTES}
  }}
}}"""


@pytest.mark.slow
def test_bytes_have_a_zero_point() -> None:
    """Zero is -128 in the first map, where the ReLU is the type's own limit."""
    arrays = [array.astype(np.int8) for array in inputs()]
    want = run_function(lowered(text=QUANTISED), None, arrays)[-1]
    before, after, ran = Counters(), Counters(), Counters()
    run_function(lowered(TILES, OFFSETS, text=QUANTISED), None, arrays, before)
    module = lowered(TILES, "npu-compress-spills", "npu-double-buffer", OFFSETS, text=QUANTISED)
    assert "blocks 4 zero -128 of %a, %a_index" in str(module)
    got = run_function(module, None, arrays, after)[-1]
    np.testing.assert_array_equal(got, want)
    assert moved(after) < moved(before)
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    (printed,) = run_c(emit(module), "net", arrays, [SHAPE], output_types=["int8"], counters=ran)
    np.testing.assert_array_equal(printed, want)
    assert ran == after
