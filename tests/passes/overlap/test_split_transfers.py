"""Transfers in parts move the same bytes, to the same places.

The interpreter poisons the target of a transfer until the wait, so a part too few, or a wait too
early, gives wrong results.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build
from helpers.tiles.loops_of_tiles import Case
from npu_dialect.dma import StartOp
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.overlap.pace import Pace
from npu_passes.overlap.split_transfers import SplitTransfersPass, steps_of
from npu_plans.time.program import Rename, Start, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, simulate, total_of
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.report import planned_function
from npu_tools.shared.installed import context

MACHINE = replace(Machine.load("exynos-npu"), dma_setup_cycles=8)
SPLIT = "npu-split-transfers"

TEXT = """
func.func @f(%x : memref<{shape}xi8, #npu.dram> {{dram.input}},
             %y : memref<{shape}xi8, #npu.dram> {{dram.output}}) {{
  %tile = sram.alloc at 0 : memref<{tile}xi8, #npu.sram>
  %from = memref.subview %x{at} {sizes} [1, 1, 1, 1]
      : memref<{shape}xi8, #npu.dram> to memref<{tile}xi8, {layout}, #npu.dram>
  %to = memref.subview %y{at} {sizes} [1, 1, 1, 1]
      : memref<{shape}xi8, #npu.dram> to memref<{tile}xi8, {layout}, #npu.dram>
  %0 = dma.start %from to %tile channel 1
      : memref<{tile}xi8, {layout}, #npu.dram> to memref<{tile}xi8, #npu.sram>
  dma.wait %0
  npu.relu ins(%tile : memref<{tile}xi8, #npu.sram>) outs(%tile : memref<{tile}xi8, #npu.sram>)
  %1 = dma.start %tile to %to channel 3
      : memref<{tile}xi8, #npu.sram> to memref<{tile}xi8, {layout}, #npu.dram>
  dma.wait %1
  func.return
}}
"""


def moving(shape: list[int], at: list[int], sizes: list[int]) -> ModuleOp:
    """A function that computes a part of a map."""
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(4)]
    layout = f"strided<{strides}, offset: {sum(map(int.__mul__, at, strides))}>"
    names = ("x".join(map(str, each)) for each in (shape, sizes))
    text = TEXT.format(
        **dict(zip(("shape", "tile"), names, strict=True)), at=at, sizes=sizes, layout=layout
    )
    module = Parser(context(), text).parse_module()
    module.attributes["npu.target"] = TargetAttr.of(MACHINE)
    module.verify()
    return module


def test_carried_transfers_are_seen() -> None:
    """A body waits for the transfer that the loop hands in, and hands on the one that it starts."""
    case = Case("relu", 0, 1, 6, 2, 3, 4, True, True, False, False, ahead=True)
    module = Parser(context(), case.text()).parse_module()
    DoubleBufferPass().apply(context(), module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    assert loop.parent is not None
    inside, outside = (
        list(steps_of(block, Pace(None, None))) for block in (loop.body.block, loop.parent)
    )
    store, load, *rest = inside
    assert isinstance(store, Start)
    assert isinstance(load, Start)
    renamed = Rename(((load.token, -1),))
    assert rest == [Work(1), Wait(-1), Wait(store.token), renamed]
    around = outside.index(Wait(max(each.token for each in outside[:7] if isinstance(each, Start))))
    assert isinstance(outside[around - 1], Work)


def starts(module: ModuleOp) -> list[StartOp]:
    return [op for op in module.walk() if isinstance(op, StartOp)]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_parts_move_the_same(data: st.DataObject) -> None:
    shape = [data.draw(st.integers(1, most)) for most in (2, 40, 12, 12)]
    at = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    sizes = [data.draw(st.integers(1, extent - low)) for extent, low in zip(shape, at, strict=True)]
    module = moving(shape, at, sizes)
    inputs = [np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)]
    (expected,) = run_function(module.clone(), "f", inputs)
    before = starts(module)
    SplitTransfersPass().apply(context(), module)
    module.verify()
    after = starts(module)
    (found,) = run_function(module, "f", inputs)
    part = tuple(slice(low, low + size) for low, size in zip(at, sizes, strict=True))
    np.testing.assert_array_equal(found[part], np.maximum(inputs[0], 0)[part])
    np.testing.assert_array_equal(found[part], expected[part])
    if sizes[1] > 30 and sizes[3] < shape[3] and sizes[2] > 1:
        assert len(after) >= len(before) + 2
        assert len({each.channel.value.data for each in after}) > 2


@pytest.mark.slow
def test_a_network_waits_less_for_the_same_bytes(tmp_path: Path) -> None:
    """ResNet-18 in 256 KB: the same bytes, fewer of them bare, and less waiting."""
    model = tmp_path / "resnet18.onnx"
    model.write_bytes(build("resnet18").SerializeToString())
    found: dict[str, Cycles] = {}

    def observe(step: str, module: ModuleOp) -> None:
        function = planned_function(module)
        if step in ("npu-prefetch", "npu-split-layers", SPLIT) and function is not None:
            rates = Rates.of(Machine.load("exynos-npu"))
            found[step] = total_of(simulate(read_program(function, rates).body, rates))

    target = machine_file(tmp_path, 256 * KB)
    compile_model(Job(model, target, plan_as="i8", observers=(observe,)))
    before, layers, after = found.values()
    assert (layers.bytes, layers.macs) == (before.bytes, before.macs)
    assert layers.transfers > before.transfers
    assert layers.total < before.total
    assert layers.bare_bytes < before.bare_bytes
    assert (after.bytes, after.compute, after.macs) == (layers.bytes, layers.compute, layers.macs)
    assert after.transfers > layers.transfers
    assert after.exposed < layers.exposed
