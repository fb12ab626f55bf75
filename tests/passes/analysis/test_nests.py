"""Which bytes loops touch at indices that are no sums and multiples of their numbers."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from helpers.pipeline import context, parse
from npu_dialect.walking import walk_kind
from npu_passes.analysis.nests import NestReader
from npu_plans.overlays.nest import Access, Loop


def access_at(text: str) -> tuple[int, int]:
    """The first and the last byte that a loop of 12 iterations reads at an index, %at."""
    module = parse(
        context(),
        f"""
        func.func @f(%x: memref<64xi8>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c4 = arith.constant 4 : index
          %c12 = arith.constant 12 : index
          scf.for %i = %c0 to %c12 step %c1 {{
            {text}
            %r = memref.load %x[%at] : memref<64xi8>
          }}
          func.return
        }}""",
    )
    (function,) = walk_kind(module, FuncOp)
    block = function.body.block
    (loop,) = NestReader.read([*block.ops], [block.args[0]])
    assert isinstance(loop, Loop)
    (access,) = loop.body
    assert isinstance(access, Access)
    ends = (
        access.first.spread(loop.number, loop.count)[0],
        access.last.spread(loop.number, loop.count)[1],
    )
    return ends[0].constant, ends[1].constant


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("%at = arith.floordivsi %i, %c2 : index", (0, 5)),
        ("%m = arith.subi %i, %c4 : index\n%at = arith.floordivsi %m, %c4 : index", (-1, 1)),
        ("%m = arith.floordivsi %i, %c4 : index\n%at = arith.addi %m, %i : index", (0, 13)),
        ("%at = arith.divui %c12, %i : index", (0, 63)),  # by what is not known: anywhere
    ],
)
def test_quotients(text: str, ends: tuple[int, int]) -> None:
    """A quotient by a known number lies between those of the first and the last iteration."""
    assert access_at(text) == ends
