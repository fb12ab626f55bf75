"""Which bytes ops on vectors touch, as the analyses of overlays and of rows see them."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from helpers.pipeline import context, parse
from npu_dialect.walking import walk
from npu_passes.analysis.nests import NestReader
from npu_passes.analysis.row_bytes import effects_of
from npu_plans.overlays.nest import Access

BYTES = "memref<64xi8, #npu.sram>"
OPS = [
    (f"%r = mve.load %x[%c] : {BYTES} -> vector<16xi8>", False, 15),
    (f"%r = mve.load %x[%c] first 3 : {BYTES} -> vector<4xi32>", False, 2),
    (f"mve.store %v, %x[%c] : vector<8xi16>, {BYTES}", True, 7),
    (f"%r = mve.gather %x[%c] at %v reach 40 : {BYTES}", False, 39),
    (f"%r = mve.gather_bytes %x[%c] at %b reach 30 : {BYTES}", False, 29),
    (f"mve.scatter %v, %x[%c] at %v reach 33 lanes 3 : {BYTES}", True, 32),
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
