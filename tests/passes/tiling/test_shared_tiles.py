"""Layers on the same tiles of a map mean the same, and move less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.utils.exceptions import PassFailedException

from helpers.quantized.build import Array
from helpers.tiles.chain import function_of, through
from helpers.tiles.counted import counted, moved_bytes, run
from helpers.tiles.machines import MACHINE, TIMED
from helpers.tiles.readers import Behind, LayerOfMap, Readers, module_of, readers
from npu_dialect.attributes import LAYER, TARGET
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import TargetAttr
from npu_passes.tiling.staged import StagedOp
from npu_passes.tiling.tile_loops import TileLoopsPass

Minimize = Literal["bytes", "time"]


@dataclass(frozen=True)
class Tiled:
    """What came of the layers: the outputs, the bytes that moved, and what was decided."""

    outputs: list[Array]
    moved: int
    staged: tuple[StagedOp, ...]


def tiled(
    wanted: Readers, machine: Machine, *, sharing: bool, minimize: Minimize = "bytes"
) -> Tiled:
    """Run layers in tiles; their transfers beside other steps, with offsets.

    Raises: PassFailedException if they do not fit.
    """
    module = module_of(wanted)
    TARGET.set(module, TargetAttr.of(machine))
    if sharing:
        through(module, "npu-gather-readers")
    function = function_of(module.clone())
    staged = TileLoopsPass(sharing=sharing, minimize=minimize).staged(function, machine).ops
    through(module, f"npu-tile-loops{{sharing={str(sharing).lower()} minimize={minimize}}}")
    outputs, counters = counted(module, wanted.shapes, wanted.kind)
    return Tiled(outputs, moved_bytes(counters), tuple(staged))


def predicted(found: Tiled, wanted: Readers) -> int:
    """The bytes that the tiles of some ops move, and the copies of results and kernels."""
    total = sum(
        wanted.size(wanted.output(layer)) * layer.on_chip
        + wanted.size(wanted.arguments.get(f"w{place}", (0,))) * layer.kernel_on_chip
        for place, layer in enumerate(wanted.layers)
    )
    for each in found.staged:
        total += 0 if each.staging is None else each.staging.bytes
        total += sum(other.staging.bytes for other in each.sharing)
    return total


def sharing(found: Tiled) -> list[list[str | None]]:
    """The names of the layers in each loop that several share."""
    return [
        [LAYER.get(op) for op in (*(other.op for other in each.sharing), each.op)]
        for each in found.staged
        if each.sharing
    ]


@settings(max_examples=80, deadline=None)
@given(
    wanted=readers(),
    share=st.sampled_from([1.0, 0.7, 0.4, 0.25, 0.15]),
    timed=st.booleans(),
)
def test_layers_on_the_same_tiles_mean_the_same(wanted: Readers, share: float, timed: bool) -> None:
    machine = replace(MACHINE, sram_bytes=max(64, int(share * wanted.bytes)))
    machine = replace(machine, **TIMED) if timed else machine
    expected = run(module_of(wanted), wanted.shapes, kind=wanted.kind)
    try:
        apart = tiled(wanted, machine, sharing=False)
    except PassFailedException:
        return  # not even the smallest tiles fit
    found = tiled(wanted, machine, sharing=True)
    for each in (apart, found):
        for one, other in zip(each.outputs, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert each.moved == predicted(each, wanted)
    assert all(sum(each.buffers) <= each.free for each in found.staged)
    assert not any(each.sharing for each in apart.staged)


CONV = LayerOfMap("conv2d", out=4, kernel=3, pads=(1, 1))
PICKS = LayerOfMap("conv2d", out=6, stride=2)
SLOW = replace(MACHINE, sram_bytes=40000, **{**TIMED, "sram_bytes_per_cycle": Fraction(1)})
FAST = replace(SLOW, sram_bytes_per_cycle=Fraction(1000))
POOL = LayerOfMap("max_pool2d", out=32, kernel=2, stride=2)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("behind", ["", "result"])
@pytest.mark.parametrize("timed", [False, True])
def test_a_map_is_loaded_once(relu: bool, behind: Behind, timed: bool) -> None:
    """Convolutions with other windows, on tiles of channels; the second one is gathered."""
    wanted = Readers((1, 32, 8, 8), (replace(CONV, behind=behind), PICKS), relu)
    machine = replace(MACHINE, sram_bytes=4096)
    machine = replace(machine, **TIMED) if timed else machine
    found = tiled(wanted, machine, sharing=True)
    assert sharing(found) == [["l0", "l1"]]
    apart = tiled(wanted, machine, sharing=False)
    # The second one reads each second row of the map alone, or each second element.
    least = 4 * 32 * 8 * 8
    assert apart.moved - found.moved >= (0 if relu else least // 4)
    for one, other in zip(found.outputs, apart.outputs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_three_layers_share() -> None:
    wanted = Readers((1, 32, 8, 8), (POOL, replace(POOL, kind="avg_pool2d"), POOL))
    found = tiled(wanted, replace(MACHINE, sram_bytes=9000), sharing=True)
    assert sharing(found) == [["l0", "l1", "l2"]]


def test_layers_that_share_no_axis_stay_apart() -> None:
    """A pool follows the channels as its own; a convolution sums over them."""
    wanted = Readers((1, 32, 8, 8), (POOL, CONV))
    assert not sharing(tiled(wanted, replace(MACHINE, sram_bytes=4096), sharing=True))


def test_layers_that_would_move_more_stay_apart() -> None:
    """Each alone has the whole map on chip, and some kernels; both could share a row at a time."""
    layer = LayerOfMap("conv2d", out=16, kernel=5, pads=(2, 2), on_chip=False)
    wanted = Readers((1, 1, 32, 8), (layer, layer))
    assert not sharing(tiled(wanted, replace(MACHINE, sram_bytes=6000), sharing=True))


def test_layers_that_would_take_longer_stay_apart() -> None:
    """Together they have room for a channel at a time, so they read their sums in each step."""
    wanted = Readers((1, 16, 16, 16), (LayerOfMap("conv2d", out=16),) * 2)
    assert sharing(tiled(wanted, SLOW, sharing=True))  # it moves fewer bytes
    assert not sharing(tiled(wanted, SLOW, sharing=True, minimize="time"))
    assert sharing(tiled(wanted, FAST, sharing=True, minimize="time"))


def test_layers_that_would_take_longer_are_not_gathered() -> None:
    layer = LayerOfMap("conv2d", out=32, on_chip=False)
    wanted = Readers((1, 16, 16, 16), (replace(layer, behind="result"), layer))
    for machine, order in ((SLOW, ["l0", None, "l1"]), (FAST, ["l0", "l1", None])):
        module = module_of(wanted)
        TARGET.set(module, TargetAttr.of(machine))
        through(module, "npu-gather-readers")
        assert [LAYER.get(op) for op in module.walk() if isinstance(op, LayerOp)] == order


@pytest.mark.parametrize("minimize", ["bytes", "time"])
def test_a_convolution_that_shares_no_tiles_reads_what_it_picks(minimize: Minimize) -> None:
    layers = (LayerOfMap("conv2d", out=8), LayerOfMap("conv2d", out=32, stride=2))
    wanted = Readers((1, 16, 16, 16), layers)
    found = tiled(wanted, SLOW, sharing=True, minimize=minimize)
    last = next(each for each in reversed(found.staged) if each.staging is not None)
    assert bool(last.sharing) == (minimize == "bytes")
    assert isinstance(last.op.operands[0].owner, memref.SubviewOp) == (minimize == "time")
