"""What the checker cannot follow is an error, not a plan that is right."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from helpers.shadow.programs import LAYERS, pointwise
from npu_tools.shadow import NotFollowed, check

ONE = pointwise("fp", 1)
AGAIN = "func.call @net(%x, %y) : (!x, !y) -> ()\n"
TABLE = """%b = memref.load %x[%i, %j] : !map
      %k = arith.index_cast %b : i8 to index
      """


@pytest.mark.parametrize(
    ("program", "old", "new", "message"),
    [
        (LAYERS, "%top = arith.muli %i", f"{TABLE}%top = arith.muli %k", "does not depend on data"),
        (ONE, "step %c1 {\n    scf.for", "step %c0 {\n    scf.for", "a positive step, got 0"),
        (ONE, "arena = 32", "arena = 2000000000000", "at most 1073741824 bytes in the arena"),
        (ONE, "i8", "i7", "elements that numpy has a type for"),
        (ONE, "func.return", '"test.op"(%x) : (!x) -> ()\n  func.return', "accesses are known"),
        (
            ONE,
            "func.return",
            "func.call @net(%x, %y) : (!x, !y) -> ()\n  func.return",
            "at most 64",
        ),
    ],
)
def test_not_followed(program: str, old: str, new: str, message: str) -> None:
    assert old in program
    with pytest.raises(NotFollowed, match=message):
        check(parse(context(), program.replace(old, new)))
