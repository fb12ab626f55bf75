"""The predicted traffic is that of the transfers in the IR, and that of the running program."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from helpers.networks.zoo import build
from helpers.tiles.chain import (
    PLACES,
    argument_shapes,
    chain,
    floats,
    function_of,
    predicted,
    shapes_of,
    through,
)
from helpers.tiles.flownet_s import LAYERS, square
from helpers.tiles.replay import mark_layers, run, without_arithmetic
from helpers.tiles.tables import megabytes
from npu_dialect.attributes import TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.emit.c import emit
from npu_passes.pipelines import OFF_CHIP, PIPELINES
from npu_tools.importers.frontends import load
from npu_tools.reports.off_chip import TransferTotal, off_chip

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")

SMALL = (
    square("conv1", 24, 32, 3, 8, 7, 2),
    square("conv2", 12, 16, 8, 12, 5, 2),
    square("conv3", 6, 8, 12, 12, 3, 1),
)


def counted(module: ModuleOp) -> dict[str, TransferTotal]:
    """The traffic of each layer, counted in the IR."""
    found = off_chip(function_of(module))
    assert found is not None
    return dict(found.layers)


@pytest.mark.slow
def test_the_program_of_flownet_s_moves_what_was_predicted() -> None:
    """All ten layers on the paper's machine move 257.33 MB; the program runs without arithmetic."""
    module = chain(LAYERS, Machine.load("zynq7020"), "npu-tile-loops")
    said = predicted(module)
    through(module, PLACES)
    assert list(said) == [layer.name for layer in LAYERS]
    assert counted(module) == said
    assert mark_layers(module) == list(said)
    without_arithmetic(module)
    ran, _ = run(emit(module), floats(argument_shapes(LAYERS)))
    assert ran == list(said.values())
    assert round(sum(moved.bytes for moved in ran) / 1e6, 2) == 257.33
    assert [round(moved.bytes / 1e6, 2) for moved in ran] == megabytes("in the IR")


@pytest.mark.slow
@pytest.mark.parametrize("sram_bytes", [3000, 8192])
def test_a_program_in_full_moves_what_was_predicted(sram_bytes: int) -> None:
    machine = Machine("small", sram_bytes, 0, alignment=8, dma_channels=4)
    module = chain(SMALL, machine, "npu-tile-loops")
    said = predicted(module)
    through(module, PLACES)
    assert counted(module) == said
    assert mark_layers(module) == list(said) == [layer.name for layer in SMALL]
    random, shapes = np.random.default_rng(2), argument_shapes(SMALL)
    inputs = [random.integers(-2, 3, shape).astype(np.float32) for shape in shapes[:-1]]
    want = run_function(chain(SMALL, machine), None, inputs)
    through(module, "npu-outline-layers,npu-lower-to-loops")
    data = b"".join(array.tobytes() for array in inputs)
    ran, output = run(emit(module), floats(shapes), data, ["-DNPU_DMA_STRICT"])
    assert ran == list(said.values())
    assert output == want[-1].tobytes()
    assert np.count_nonzero(want[-1]) > 50


@pytest.mark.slow
def test_the_model_of_flownet_s_moves_what_was_predicted(tmp_path: Path) -> None:
    """The whole pipeline: maps that fit stay on chip, so the layers around them move less."""
    path = tmp_path / "flownet_s.onnx"
    path.write_bytes(build("flownet_s").SerializeToString())
    module = load(path, {}).module
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    passes, _, _ = PIPELINES[OFF_CHIP].text.partition(",npu-outline-layers")
    before, _, behind = passes.partition(",npu-double-buffer")
    placed, _, behind = behind.partition(",npu-prefetch")
    through(module, before)
    said = predicted(module)
    through(module, f"npu-double-buffer{placed}")
    prefetched = module.clone()
    through(prefetched, f"npu-prefetch{behind}")
    assert counted(module) == counted(prefetched) == said
    assert mark_layers(module) == list(said) == [layer.name for layer in LAYERS]
    through(module, behind.removeprefix(","))
    without_arithmetic(module)
    ends = [shapes_of(LAYERS[0])[0], shapes_of(LAYERS[-1])[3]]
    ran, _ = run(emit(module, weights="bin"), floats(ends))
    assert ran == list(said.values())
    assert round(sum(moved.bytes for moved in ran) / 1e6, 2) == 256.35
    assert [round(moved.bytes / 1e6, 2) for moved in ran] == megabytes("in the network")
