"""What layers hold on chip, and which layers transfers serve."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from helpers.parsing import parse
from helpers.tiles.loops_of_tiles import CASES, Case
from npu_dialect.attributes import ARENA
from npu_passes.analysis.held_on_chip import held_on_chip
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_plans.time.bound import Layer, Load, Plan, Store, least_cycles
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of
from npu_tools.shared.installed import context

RATES = Rates({"f32": Fraction(3)}, Fraction(8), Fraction(4), setup=10, jump=1, channels=2)


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function


def plan_of(body: str) -> Plan:
    module = parse(f"""
    func.func @f(%x : memref<4x64xi8, #npu.dram>, %y : memref<4x64xi8, #npu.dram>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %a = sram.alloc : memref<4x64xi8, #npu.sram>
      %b = sram.alloc : memref<4x64xi8, #npu.sram>
      {body}
      func.return
    }}""")
    return held_on_chip(function_of(module), RATES)


RELU = """
npu.relu ins({0} : memref<4x64xi8, #npu.sram>) outs({1} : memref<4x64xi8, #npu.sram>)"""
LOAD = """
{0} = dma.start %x to %a channel 0 : memref<4x64xi8, #npu.dram> to memref<4x64xi8, #npu.sram>
dma.wait {0}"""
STORE = """
{0} = dma.start {1} to %y channel 3 : memref<4x64xi8, #npu.sram> to memref<4x64xi8, #npu.dram>
dma.wait {0}"""


def test_layers_hold_what_they_read_and_what_they_compute() -> None:
    """A layer in place holds its map once; %b lives from the first layer to the last one."""
    body = [LOAD.format("%0"), RELU.format("%a", "%b"), RELU.format("%a", "%a")]
    plan = plan_of("\n".join([*body, RELU.format("%b", "%a"), STORE.format("%1", "%a")]))
    assert [each.room for each in plan.layers] == [512, 512, 512]
    assert plan.loads == (Load(0, 256),)
    assert plan.stores == (Store(2, 256),)


def test_what_is_stored_and_read_on_chip_is_kept() -> None:
    body = [RELU.format("%a", "%b"), STORE.format("%1", "%b"), RELU.format("%b", "%a")]
    assert plan_of("\n".join(body)).stores == (Store(0, 256, kept=True),)
    # What the next layer overwrites is no longer what was stored.
    body = [RELU.format("%a", "%b"), STORE.format("%1", "%b"), RELU.format("%a", "%b")]
    assert plan_of("\n".join([*body, RELU.format("%b", "%a")])).stores == (Store(0, 256),)


def test_a_map_that_comes_back() -> None:
    back = LOAD.format("%2").replace("%x", "%y")
    body = [RELU.format("%a", "%b"), STORE.format("%1", "%b"), RELU.format("%a", "%a"), back]
    plan = plan_of("\n".join([*body, RELU.format("%a", "%b")]))
    assert plan.loads == (Load(2, 256, source=0),)
    assert plan.stores == (Store(0, 256, needed=2),)


def test_tiles_are_views_with_numbers() -> None:
    """Each step loads a row for the next one, into one half of the buffer."""
    row = "memref<1x64xi8, strided<[64, 1], offset: ?>, #npu.{0}>"
    here, there = row.format("sram"), row.format("dram")
    view = "[1, 64] [1, 1] : memref<4x64xi8, #npu.{0}> to " + row
    plan = plan_of(f"""
      scf.for %i = %c0 to %c3 step %c1 {{
        %next = arith.addi %i, %c1 : index
        %half = arith.remui %i, %c2 : index
        %other = arith.remui %next, %c2 : index
        %from = memref.subview %x[%next, 0] {view.format("dram")}
        %to = memref.subview %a[%other, 0] {view.format("sram")}
        %now = memref.subview %a[%half, 0] {view.format("sram")}
        %out = memref.subview %b[%i, 0] {view.format("sram")}
        %0 = dma.start %from to %to channel 0 : {there} to {here}
        npu.relu ins(%now : {here}) outs(%out : {here})
        dma.wait %0
      }}""")
    assert plan.loads == (Load(1, 64), Load(2, 64))
    assert [each.room for each in plan.layers] == [64, 128, 128]


def test_elements_are_no_layers() -> None:
    """Zeros that are written into a map belong to what runs between two layers."""
    zeros = """%z = arith.constant 0 : i8
    scf.for %i = %c0 to %c4 step %c1 {
      memref.store %z, %a[%i, %c0] : memref<4x64xi8, #npu.sram>
    }"""
    body = [LOAD.format("%0"), zeros, RELU.format("%a", "%b")]
    plan = plan_of("\n".join(body))
    assert plan.layers == (Layer(64, 512),)
    assert plan.loads == (Load(0, 256),)


def test_an_index_that_is_not_known() -> None:
    module = parse("""
    func.func @f(%n : index) {
      scf.for %i = %n to %n step %n {
      }
      func.return
    }""")
    with pytest.raises(NotTimed, match="does not follow from constants"):
        held_on_chip(function_of(module), RATES)


@pytest.mark.parametrize("double", [False, True])
@settings(max_examples=60, deadline=None)
@given(case=CASES)
def test_no_program_is_faster_than_its_bound(case: Case, double: bool) -> None:
    module = parse(case.text())
    if double:
        DoubleBufferPass().apply(Context(), module)
    AssignSramOffsetsPass().apply(context(), module)
    function = function_of(module)
    cycles = total_of(simulate(read_program(function, RATES).body, RATES))
    plan = held_on_chip(function, RATES)
    capacity = ARENA.get(function) or 0
    assert max((each.room for each in plan.layers), default=0) <= capacity
    assert sum(each.cycles for each in plan.layers) == cycles.compute
    assert sum(each.bytes for each in (*plan.loads, *plan.stores)) == cycles.bytes
    bound = least_cycles(plan, capacity, RATES)
    assert cycles.compute <= bound <= cycles.total
    less = least_cycles(plan, capacity, replace(RATES, channels=1))
    assert bound <= less
