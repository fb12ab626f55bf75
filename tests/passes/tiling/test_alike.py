"""Layers of one shape are searched once in a run of a pass, and layers that differ each."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from helpers.tiles.chain import chain
from helpers.tiles.flownet_s import square
from npu_dialect.machine import Machine
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.quantization import Mode, RequantizeAttr
from npu_passes.tiling import tile_loops
from npu_passes.tiling.alike import shape_of_layer
from npu_passes.tiling.conv_tiles import TileOptions
from npu_passes.tiling.stage import off_chip_operands
from npu_passes.tiling.staging import Staging, choose

MACHINE = Machine("small", 3000, 0, alignment=8, dma_channels=4)
LAYERS = (
    square("first", 12, 16, 8, 12, 5, 1),
    square("second", 12, 16, 12, 12, 5, 1),
    square("third", 12, 16, 12, 12, 5, 1),
    square("wide", 12, 16, 12, 12, 3, 1),
    square("strided", 12, 16, 12, 12, 3, 2),
)


def searched(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> list[str | None]:
    """The layers for which the pass searches tiles."""
    names: list[str | None] = []

    def watched(op: Operation, machine: Machine, free: int, options: TileOptions) -> Staging:
        assert isinstance(op, Conv2dOp)
        names.append(op.layer_name)
        return choose(op, machine, free, options)

    monkeypatch.setattr(tile_loops, "choose", watched)
    chain(LAYERS, machine, "npu-tile-loops")
    return names


def test_equal_layers_are_searched_once_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        assert searched(monkeypatch, MACHINE) == ["first", "second", "wide", "strided"]


def keys(layers: list[Conv2dOp]) -> list[object]:
    return [shape_of_layer(op, off_chip_operands(op)) for op in layers]


def test_numbers_do_not_matter_but_places_do() -> None:
    second, third, wide = (
        op
        for op in chain(LAYERS, MACHINE).walk()
        if isinstance(op, Conv2dOp) and op.layer_name in ("second", "third", "wide")
    )
    one, two, other = keys([second, third, wide])
    assert one == two != other
    assert shape_of_layer(second, {second.input}) != one
    for op, scales in ((second, [0.5]), (third, [0.25])):
        op.change_epilogue(requantize=RequantizeAttr.of(scales, 0, Mode.FLOAT))
    assert keys([second])[0] == keys([third])[0] != one
    third.change_epilogue(requantize=RequantizeAttr.of([0.5] * 12, 0, Mode.FLOAT))
    assert keys([second])[0] != keys([third])[0]
