"""Outputs that overwrite what their layers have read: every plan is checked byte by byte."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.func import CallOp

from helpers.kernel_chains import ChainMaker
from helpers.kernel_planes import PlanesMaker
from helpers.kernel_roads import BYTES, DSP, FUSE, ROADS, SLOW, VECTORS, Road, same
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function
from npu_passes.analysis.overlaid import claims_of, distance_of
from npu_tools.compiling.check import random_inputs
from npu_tools.shadow import check

SEEDS = 4


def overlaid(module: ModuleOp, road: Road) -> ModuleOp:
    """The loops of a network whose outputs may overwrite its inputs."""
    options = f"{{{road.options}}}" if road.options else ""
    return run_passes(
        context(),
        module,
        f"npu-attach-target{{target={road.machine}}},{FUSE},npu-bufferize,npu-choose-layouts,npu-reorder-inputs,"
        f"npu-overlay-maps{options},npu-assign-sram-offsets,npu-turn-layers,npu-outline-layers,"
        f"npu-lower-to-loops{options},npu-check-overlays",
    )


def shared(module: ModuleOp) -> Counter[bool]:
    """How many calls overwrite an input: with the output in front of it (True) or behind it."""
    calls = (op for op in module.walk() if isinstance(op, CallOp))
    distances = (distance_of(call, claim) for call in calls for claim in claims_of(call))
    return Counter(distance >= 0 for distance in distances if distance is not None)


@pytest.mark.parametrize(
    "road",
    [pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each for each in ROADS],
    ids=str,
)
def test_no_byte_is_read_after_it_was_overwritten(road: Road) -> None:
    found = Counter[bool]()
    for seed in range(SEEDS):
        module = overlaid(ChainMaker(Random(seed)).network(), road)
        assert not check(module), f"seed {seed}"
        found.update(shared(module))
    assert found[True], "no output follows its input"
    assert found[False], "no layer runs backwards"


@pytest.mark.parametrize("road", [DSP, BYTES], ids=str)
@pytest.mark.parametrize("columns", [1, 3])
def test_images_of_a_batch_are_read_before_they_are_overwritten(road: Road, columns: int) -> None:
    """An image of the output has more bytes than one of the input, so it reaches the next ones."""
    maker = ChainMaker(Random(columns), images=2)
    x = maker.pointwise(maker.argument(i8, (2, 8, 4, columns)), 8)
    network = maker.finished(maker.pointwise(x, 13))
    module = overlaid(network, road)
    assert not check(module)
    assert sum(shared(module).values())
    wanted = run_function(network, None, random_inputs(network, 5))
    same(run_function(module, None, random_inputs(network, 5)), wanted, road)


@pytest.mark.parametrize(
    "road", [DSP, BYTES, pytest.param(VECTORS, marks=pytest.mark.slow)], ids=str
)
def test_layers_between_planes(road: Road) -> None:
    """An output in planes follows an input in planes, group by group or pixel by pixel."""
    found = Counter[bool]()
    for seed in range(16 if road is DSP else SEEDS):
        network = PlanesMaker(Random(seed)).network()
        module = overlaid(network, road)
        assert not check(module), f"seed {seed}"
        inputs = random_inputs(network, 5)
        same(run_function(module, None, inputs), run_function(network, None, inputs), road)
        found.update(shared(module))
    assert found[True]


def test_chains_of_batches() -> None:
    for seed in range(SEEDS):
        module = overlaid(ChainMaker(Random(seed), images=2).network(), ROADS[seed % 2])
        assert not check(module), f"seed {seed}"


def in_rows(module: ModuleOp, road: Road) -> ModuleOp:
    """The loops of a network that runs row by row, and whose maps may overwrite each other."""
    return run_passes(
        context(),
        module,
        f"npu-attach-target{{target={road.machine}}},{FUSE},npu-fuse-rows{{when=always}},"
        "npu-bufferize,npu-choose-layouts,npu-reorder-inputs,npu-overlay-maps,npu-assign-sram-offsets,"
        "npu-turn-layers,npu-outline-layers,npu-lower-to-loops,npu-check-overlays",
    )


def test_rows_are_overwritten_after_they_were_read() -> None:
    """The plan of loops over rows, whose buffers share memory, holds byte by byte."""
    found = 0
    for seed in range(SEEDS):
        maker = ChainMaker(Random(seed))
        module = in_rows(maker.network(), ROADS[seed % 2])
        assert not check(module), f"seed {seed}"
        loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
        found += sum(
            distance_of(loop, claim) is not None for loop in loops for claim in claims_of(loop)
        )
    assert found, "no loop over rows overwrites its input"
