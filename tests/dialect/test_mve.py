"""The ops of the mve dialect in the interpreter, compared with numpy; mistakes are errors."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import InterpretationError

from helpers.mve_program import Case, expected, program
from helpers.parsing import parse
from npu_dialect.interpreters import run_function


@pytest.mark.parametrize("seed", range(3))
def test_all_ops(seed: int) -> None:
    case = Case.of(seed)
    for found, wanted in zip(
        run_function(parse(program()), None, case.arrays), expected(case), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("first", "fine"), [("", (0, 4)), (" first 3", (0, 17))])
@pytest.mark.parametrize("op", ["load", "store"])
def test_no_lane_outside_of_the_buffer(op: str, first: str, fine: tuple[int, int]) -> None:
    body = f"mve.load %x[%i]{first} : memref<20xi8> -> vector<16xi8>"
    if op == "store":
        body = f"mve.store %v, %x[%i]{first} : vector<16xi8>, memref<20xi8>"
    module = parse(f"""
    func.func @k(%x: memref<20xi8>, %i: index) {{
      %n = arith.constant 3 : i32
      %v = mve.splat %n : i32 -> vector<16xi8>
      {"%w = " if op == "load" else ""}{body}
      func.return
    }}""")
    data = np.zeros(20, np.int8)
    for index in range(fine[0], fine[1] + 1):
        run_function(module, "k", [data, np.array(index)])
    for index in (fine[0] - 1, fine[1] + 1):
        with pytest.raises(InterpretationError, match="outside a buffer of shape"):
            run_function(module, "k", [data, np.array(index)])
