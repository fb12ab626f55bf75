"""Which bytes ops on vectors touch, as the analyses of overlays and of rows see them."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from helpers.pipeline import context, parse
from npu_dialect.walking import walk
from npu_passes.analysis.nests import NestReader
from npu_passes.analysis.row_bytes import effects_of
from npu_plans.overlays.nest import Access, Loop

BYTES = "memref<64xi8, #npu.sram>"
OPS = [
    (f"%r = mve.load %x[%c] : {BYTES} -> vector<16xi8>", False, 15),
    (f"%r = mve.load %x[%c] first 3 : {BYTES} -> vector<4xi32>", False, 2),
    (f"mve.store %v, %x[%c] : vector<8xi16>, {BYTES}", True, 7),
    (f"%r = mve.gather %x[%c] at %v reach 40 : {BYTES}", False, 39),
    (f"%r = mve.gather_bytes %x[%c] at %b reach 30 : {BYTES}", False, 29),
    (f"mve.scatter %v, %x[%c] at %v reach 33 lanes 3 : {BYTES}", True, 32),
    (f"mve.scatter_bytes %b, %x[%c] at %b reach 21 : {BYTES}", True, 20),
]


def access_op(text: str) -> Operation:
    """The op of a text, which accesses %x at element 5."""
    module = parse(
        context(),
        f"""
        func.func @f(%x: {BYTES}, %v: vector<8xi16>, %b: vector<16xi8>) {{
          %c = arith.constant 5 : index
          {text}
          func.return
        }}""",
    )
    (found,) = [op for op in walk(module) if op.name.startswith("mve.")]
    return found


@pytest.mark.parametrize(("text", "writes", "reach"), OPS)
def test_from_the_first_byte_to_the_last_one(text: str, writes: bool, reach: int) -> None:
    op = access_op(text)
    block = op.parent_block()
    assert block is not None
    (node,) = NestReader.read([*block.ops], [block.args[0]])
    assert isinstance(node, Access)
    assert (node.buffer, node.writes) == (0, writes)
    assert (node.first.constant, node.last.constant) == (5, 5 + reach)


@pytest.mark.parametrize(("text", "writes", "reach"), OPS)
def test_one_effect(text: str, writes: bool, reach: int) -> None:
    assert reach
    op = access_op(text)
    ((buffer, found),) = effects_of(op, {})
    assert buffer.name_hint == "x"
    assert found == writes


RUNS = f"""
func.func @f(%x: {BYTES}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %w = memref.get_global @w : memref<64xi32>
  scf.for %i = %c1 to %c3 step %c1 {{
    %r = mve.mul_runs %x[%c5] by %w[%c0] from %w[%c0] rows ROWS run 8 apart 0 pitch 20 step 4
      filters 1 : {BYTES}, memref<64xi32>, memref<64xi32> -> vector<4xi32>
  }}
  func.return
}}"""


def runs_of(rows: str) -> Loop:
    """What is read as the loop over rows of the op inside of `RUNS`."""
    module = parse(context(), RUNS.replace("ROWS", rows))
    (loop,) = [op for op in walk(module) if op.name == "scf.for"]
    block = loop.parent_block()
    assert block is not None
    (node,) = NestReader.read([*block.ops], [block.args[0]])
    assert isinstance(node, Loop)
    (inner,) = node.body
    assert isinstance(inner, Loop)
    return inner


@pytest.mark.parametrize(("rows", "times"), [("%c3", 3), ("%i", 2)])
def test_runs_are_a_loop_over_rows(rows: str, times: int) -> None:
    """Each reads eight bytes, and the next one begins 20 bytes behind it."""
    inner = runs_of(rows)
    assert inner.count == times
    (access,) = inner.body
    assert isinstance(access, Access)
    assert (access.writes, access.first.constant, access.last.constant) == (False, 5, 12)
    assert access.first.factors == access.last.factors == ((inner.number, 20),)


def test_unknown_rows_may_be_all_of_a_buffer() -> None:
    inner = runs_of("%n")
    found = [each for each in inner.body if isinstance(each, Access)]
    assert {(each.first.constant, each.last.constant) for each in found} == {(0, 63)}


def test_effects_of_runs() -> None:
    """The map, the table and the first values are read."""
    module = parse(context(), RUNS.replace("ROWS", "%c3"))
    (op,) = [op for op in walk(module) if op.name == "mve.mul_runs"]
    assert [(each.name_hint, writes) for each, writes in effects_of(op, {})] == [
        ("x", False),
        ("w", False),
        ("w", False),
    ]
