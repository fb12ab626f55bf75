"""npu-fuse-zero-blocks: layers that prune move into the tiles of the layers before them."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

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
)
from npu_dialect.attributes import LAYER, RUNS
from npu_dialect.dma import StartOp
from npu_dialect.interpreters import Counters
from npu_dialect.npu import PruneZeroBlocksOp
from npu_passes.emit.c import emit
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.installed import available_passes, context

EVERYWHERE = "npu-prune-zero-blocks{where=all block-size=4 threshold=9.5}"
FUSE = "npu-fuse-zero-blocks"
REST = ("npu-compress-spills", "npu-double-buffer", OFFSETS)


def network() -> str:
    """The network with pruning layers, as it is imported."""
    return str(lowered(EVERYWHERE))


def prunes(module: ModuleOp) -> list[PruneZeroBlocksOp]:
    return [op for op in module.walk() if isinstance(op, PruneZeroBlocksOp)]


@pytest.mark.slow
def test_nothing_more_moves() -> None:
    """Results are the same, and transfers as if `where=spilled` had pruned the tiles."""
    text = network()
    want, _ = interpreted(lowered(text=text))
    apart, before = interpreted(lowered(TILES, *REST, text=text))
    module = lowered(TILES, FUSE, *REST, text=text)
    got, after = interpreted(module)
    np.testing.assert_array_equal(apart, want)
    np.testing.assert_array_equal(got, want)
    _, on_the_way = interpreted(lowered(TILES, PRUNE, *REST))
    assert after == on_the_way
    assert asdict(after)["feature_map_reads"] == before.feature_map_reads - 2
    assert after.feature_map_write_bytes < before.feature_map_write_bytes
    for each in parse_passes(available_passes(), LOOPS):
        each.apply(context(), module)
    ran = Counters()
    (printed,) = run_c(emit(module), "net", inputs(), [SHAPE], counters=ran)
    np.testing.assert_array_equal(printed, want)
    assert ran == after


def test_what_the_layer_says_is_kept() -> None:
    """Its name, how often it runs, and the share of zeros that it expects."""
    text = network().replace('"c2_zero_blocks"', '"c2_zero_blocks", npu.zero_blocks = 0.001 : f64')
    module = lowered(TILES, FUSE, text=text)
    first = prunes(module)[0]
    assert first.layer_name == "c1_zero_blocks"
    assert RUNS.get(first) == 4
    packed = str(lowered(TILES, FUSE, "npu-compress-spills", text=text))
    assert "0.1 % of it are expected in zero blocks" in packed


READ_BEFORE = TEXT.replace(
    "%b = npu.conv2d %a, %w2",
    '%p = npu.prune_zero_blocks %a block 4 threshold 9.5 {npu.layer = "p"}\n'
    "      : tensor<1x8x20x22xf32> -> tensor<1x8x20x22xf32>\n"
    "    %b = npu.conv2d %p, %w2",
)


CUT = "npu-bufferize,npu-spill-maps,npu-tile-loops{producers=false}"


@pytest.mark.parametrize(
    ("tiles", "text", "layer"),
    [(CUT, network(), "c2_zero_blocks"), (TILES, READ_BEFORE, "p")],
    ids=["tiles that cut blocks", "a map that is needed as it was"],
)
def test_left_alone(tiles: str, text: str, layer: str) -> None:
    """A layer that is left alone has its own transfers, and the results are right."""
    want, _ = interpreted(lowered(text=text))
    module = lowered(tiles, FUSE, OFFSETS, text=text)
    starts = [op for op in module.walk() if isinstance(op, StartOp)]
    assert any(LAYER.get(op) == layer for op in starts)
    got, _ = interpreted(module)
    np.testing.assert_array_equal(got, want)


def test_no_transfer_is_left() -> None:
    module = lowered(TILES, FUSE, text=network())
    names = [LAYER.get(op) for op in module.walk() if isinstance(op, StartOp)]
    assert "c1_zero_blocks" not in names
    assert "c2_zero_blocks" not in names
