"""The numbers in `npu.tile` (T, its parts, the bounds) agree with the transfers in the IR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from helpers.layers_text import (
    LayerText,
    convolutions,
    dense_layers,
    moving_layers,
    pools,
    simple_layers,
)
from helpers.tiles.chain import chain, through
from helpers.tiles.flownet_s import LAYERS, square
from npu_dialect.attributes import TARGET, TILE
from npu_dialect.dma import StartOp
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.target import TargetAttr
from npu_passes.analysis.affine_index import constant_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.stage import off_chip_operands
from npu_passes.tiling.staging import least_bytes
from npu_plans.tiles.cost_model import DmaCosts, OperandTraffic
from npu_plans.tiles.layer_shape import ConvShape
from npu_plans.tiles.tile_search import SearchOptions, search
from npu_tools.shared.installed import context

COSTS = DmaCosts(50, 3, 1)


def machine_with(sram_bytes: int) -> Machine:
    return Machine(
        "small",
        sram_bytes,
        0,
        alignment=8,
        dma_channels=4,
        dma_setup=50,
        dma_jump=3,
        dma_element=1,
    )


def said(module: ModuleOp) -> dict[str, int]:
    """The numbers of the only layer's `npu.tile`."""
    (found,) = (
        tile
        for op in module.walk()
        if isinstance(op, LayerOp) and (tile := TILE.get(op)) is not None
    )
    return {
        key: value.value.data for key, value in found.data.items() if isinstance(value, IntegerAttr)
    }


def runs(op: StartOp) -> int:
    """The runs of consecutive off-chip addresses of a transfer, counted address by address."""
    ends = map(memref_type, (op.source, op.target))
    (kind,) = (end for end in ends if isinstance(end.memory_space, DramSpace))
    strides = [stride or 0 for stride in kind.get_strides() or ()]
    at = np.zeros(kind.get_shape(), np.int64)
    for axis, (extent, stride) in enumerate(zip(kind.get_shape(), strides, strict=True)):
        steps = np.arange(extent) * stride
        at += steps.reshape([extent if axis == each else 1 for each in range(at.ndim)])
    return 1 + int((np.diff(at.ravel()) != 1).sum())


def times(op: Operation) -> Iterator[int]:
    """The trip counts of the loops around an op."""
    while isinstance(op := op.parent_op() or op, scf.ForOp):
        low, high, step = (constant_of(each) for each in (op.lb, op.ub, op.step))
        assert low is not None
        assert high is not None
        assert step is not None
        yield len(range(low, high, step))


def counted(module: ModuleOp) -> OperandTraffic:
    """The sum of the transfers in the IR."""
    parts: list[Sequence[int]] = [(0, 0, 0)]
    for op in (op for op in module.walk() if isinstance(op, StartOp)):
        rounds = prod(times(op))
        parts.append((rounds, rounds * runs(op), rounds * prod(memref_type(op.source).get_shape())))
    transfers, jumps, elements = (sum(each) for each in zip(*parts, strict=True))
    return OperandTraffic(transfers, jumps, elements, 4 * elements)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_cost_is_that_of_the_transfers(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    depth, kernels = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    layer = square(
        *("c", 2 * height, 2 * width, depth, kernels),
        data.draw(st.sampled_from((1, 3, 5))),
        data.draw(st.sampled_from((1, 2))),
    )
    sizes = ",".join(str(data.draw(st.integers(1, 6))) for _ in range(4))
    by_hand = data.draw(st.booleans())
    option = f"{{tile-sizes={sizes}}}" if by_hand else ""
    memory = 1 << 20 if by_hand else data.draw(st.integers(1500, 6000))
    module = chain([layer], machine_with(memory), f"npu-tile-loops{option}")
    numbers, moved = said(module), counted(module)
    assert (numbers["transfers"], numbers["jumps"]) == (moved.transfers, moved.jumps)
    assert numbers["bytes"] == moved.bytes
    assert numbers["cost"] == moved.cost(COSTS)
    assert numbers["compulsory_bytes"] <= numbers["bound_bytes"] <= numbers["bytes"]


@settings(max_examples=40, deadline=None)
@given(
    layer=st.one_of(convolutions(), pools(), dense_layers(), simple_layers(), moving_layers()),
    share=st.sampled_from((0.0, 0.1, 0.3)),
)
def test_any_layer(layer: LayerText, share: float) -> None:
    """All operands lie off the chip, and little more SRAM is free than the smallest tile needs."""
    text = re.sub(r"(memref<[^>]*)>", r"\1, #npu.dram>", layer.text)
    module = Parser(context(), text).parse_module()
    (op,) = (op for op in module.walk() if isinstance(op, LayerOp))
    assume(not isinstance(op, ConcatOp))  # it becomes transfers only
    off_chip = off_chip_operands(op)
    least = least_bytes(op, off_chip, machine_with(1))
    whole = 4 * sum(prod(memref_type(value).get_shape()) for value in off_chip)
    TARGET.set(module, TargetAttr.of(machine_with(least + int(share * whole))))
    through(module, "npu-tile-loops")
    numbers, moved = said(module), counted(module)
    assert numbers["bytes"] == moved.bytes
    assert (numbers["jumps"], numbers["cost"]) == (moved.jumps, moved.cost(COSTS))
    assert numbers.get("bound_bytes", 0) <= numbers["bytes"]


@pytest.mark.parametrize("layer", LAYERS[:3], ids=lambda layer: layer.name)
def test_bounds_are_those_of_the_search(layer: ConvShape) -> None:
    machine = Machine.load("zynq7020")
    costs = DmaCosts(machine.dma_setup, machine.dma_jump, machine.dma_element)
    module = chain([layer], machine, "npu-tile-loops")
    numbers, found = said(module), search(layer, machine.sram_bytes, costs, SearchOptions())
    assert numbers["compulsory_bytes"] == found.compulsory_bytes
    assert numbers["bound_bytes"] == found.lower_bound_bytes
    assert numbers["cost"] == counted(module).cost(costs)


@pytest.mark.parametrize("sram_bytes", [4096, 600, 120, 32])
@pytest.mark.parametrize(
    "strides",
    ["384, 96, 12, 1", "320, 80, 10, 1", "192, 64, 8, 1", "256, 48, 8, 1", "384, 96, 16, 2"],
)
def test_gaps_end_runs(strides: str, sram_bytes: int) -> None:
    kind = f"memref<2x3x6x8xf32, strided<[{strides}]>, #npu.dram>"
    text = f"""func.func @f(%x: {kind}, %y: {kind}) {{
      npu.relu ins(%x : {kind}) outs(%y : {kind})
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    TARGET.set(module, TargetAttr.of(machine_with(sram_bytes)))
    through(module, "npu-tile-loops")
    numbers, moved = said(module), counted(module)
    assert (numbers["jumps"], numbers["cost"]) == (moved.jumps, moved.cost(COSTS))


def test_a_machine_that_names_no_costs_has_none() -> None:
    machine = Machine("small", 8192, 0, alignment=8, dma_channels=4)
    numbers = said(chain([square("c", 12, 16, 8, 12, 3, 1)], machine, "npu-tile-loops"))
    assert "cost" not in numbers
    assert numbers["jumps"] >= numbers["transfers"]
