"""Loops are split where the decisions change that depend on their numbers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from helpers.parsing import parse
from npu_passes.analysis.loop_parts import MOST_PARTS, parts_of

LOOP = """
func.func @f(%a: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = arith.subi %i, %c1 : index
    %inside = arith.cmpi ult, %0, %c6 : index
    %1 = arith.muli %a, %c2 : index
    %2 = arith.addi %1, %i : index
    %first = arith.maxsi %2, %c2 : index
    %row = arith.addi %first, %first : index
    %found = arith.select %inside, %row, %c0 : index
  }
  func.return
}
"""


def parts(numbers: range, outer: int | None) -> list[tuple[int, int, tuple[bool, ...]]]:
    """The first number, the count and the decisions of each part; `outer` is the argument."""
    (loop,) = (op for op in parse(LOOP).walk() if isinstance(op, scf.ForOp))
    function = loop.parent_op()
    assert function is not None
    argument: SSAValue = function.regions[0].block.args[0]
    found = parts_of(loop.body.block.args[0], numbers, {} if outer is None else {argument: outer})
    return [(part.start, len(part), in_order(answers)) for part, answers in found]


def in_order(answers: Mapping[SSAValue, bool]) -> tuple[bool, ...]:
    """The comparison, then the maximum."""
    names = {
        value.owner.name: holds
        for value, holds in answers.items()
        if isinstance(value.owner, Operation)
    }
    return tuple(names[name] for name in sorted(names))


def test_parts_cover_the_loop() -> None:
    """A comparison alone is decided; with the argument known, the maximum is, too."""
    assert parts(range(8), None) == [(0, 1, (False,)), (1, 6, (True,)), (7, 1, (False,))]
    assert parts(range(8), 0) == [
        (0, 1, (False, False)),
        (1, 1, (True, False)),
        (2, 5, (True, True)),
        (7, 1, (False, True)),
    ]
    assert parts(range(8), 3)[0] == (0, 1, (False, True))


def test_too_many_parts_are_none() -> None:
    assert MOST_PARTS == 4
    assert parts(range(0, 8, 7), None) == [(0, 2, (False,))]
    assert parts(range(1, 1), None) == []
