"""The ops of the mve dialect in the interpreter, compared with numpy; mistakes are errors."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import InterpretationError

from helpers.mve_meanings import Case
from helpers.mve_program import expected, program
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


def places_module(op: str) -> str:
    """A function with an access of %x at %i plus the places of %p."""
    return f"""
    func.func @k(%x: memref<20xi8>, %i: index, %p: memref<8xi16>) {{
      %zero = arith.constant 0 : index
      %at = mve.load %p[%zero] : memref<8xi16> -> vector<8xi16>
      {op} : memref<20xi8>
      func.return
    }}"""


GATHER = "%r = mve.gather %x[%i] at %at reach 9"
SCATTER = "mve.scatter %at, %x[%i] at %at reach 9"


@pytest.mark.parametrize("op", [GATHER, SCATTER])
def test_no_place_outside_of_the_reach(op: str) -> None:
    data, near = np.zeros(20, np.int8), np.arange(1, 9, dtype=np.int16)
    for index, places, message in (
        (12, near, "outside a buffer of shape"),
        (-1, near, "outside a buffer of shape"),
        (3, near + 1, "place 9 is beyond the reach of 9"),
        (3, near - 2, "place 65535 is beyond the reach of 9"),
    ):
        with pytest.raises(InterpretationError, match=message):
            run_function(parse(places_module(op)), "k", [data, np.array(index), places])
    for index in (0, 11):
        run_function(parse(places_module(op)), "k", [data, np.array(index), near])
        some = parse(places_module(f"{op} lanes 127"))
        run_function(some, "k", [data, np.array(index), np.append(near[:7], np.int16(99))])


@pytest.mark.parametrize("op", [GATHER, SCATTER])
def test_places_are_multiples_of_the_step(op: str) -> None:
    data, apart = np.zeros(20, np.int8), np.arange(0, 16, 2, dtype=np.int16)
    op = op.replace("reach 9", "reach 16 step 2")
    run_function(parse(places_module(op)), "k", [data, np.array(3), apart])
    with pytest.raises(InterpretationError, match="expected places that are multiples of 2"):
        run_function(parse(places_module(op)), "k", [data, np.array(3), apart + 1])
    some = parse(places_module(f"{op} lanes 127"))
    run_function(some, "k", [data, np.array(3), np.append(apart[:7], np.int16(15))])


@pytest.mark.parametrize(("op", "bits"), [("mve.scatter", 16), ("mve.scatter_bytes", 8)])
def test_lanes_with_one_place_have_equal_bytes(op: str, bits: int) -> None:
    lanes, kind = 128 // bits, np.dtype(f"int{bits}")
    vector, line = f"vector<{lanes}xi{bits}>", f"memref<{lanes}xi{bits}>"
    module = parse(f"""
    func.func @k(%x: memref<20xi8>, %v: {line}, %p: {line}) {{
      %i = arith.constant 0 : index
      %at = mve.load %p[%i] : {line} -> {vector}
      %value = mve.load %v[%i] : {line} -> {vector}
      {op} %value, %x[%i] at %at reach {lanes} : memref<20xi8>
      func.return
    }}""")
    data, places = np.zeros(20, np.int8), np.minimum(np.arange(lanes), lanes - 2).astype(kind)
    run_function(module, "k", [data, places * 3, places])
    with pytest.raises(InterpretationError, match="equal bytes for lanes with one place"):
        run_function(module, "k", [data, np.arange(lanes).astype(kind), places])


@pytest.mark.parametrize("op", ["mve.scatter", "mve.scatter_bytes"])
def test_nothing_is_stored_to_a_constant(op: str) -> None:
    vector = "vector<8xi16>" if op == "mve.scatter" else "vector<16xi8>"
    module = parse(f"""
    "memref.global"() <{{
      sym_name = "x", sym_visibility = "private", type = memref<4xi8>,
      initial_value = dense<2> : tensor<4xi8>, constant
    }}> : () -> ()
    func.func @k() {{
      %x = memref.get_global @x : memref<4xi8>
      %i = arith.constant 0 : index
      %none = arith.constant 0 : i32
      %zeros = mve.splat %none : i32 -> {vector}
      {op} %zeros, %x[%i] at %zeros reach 1 : memref<4xi8>
      func.return
    }}""")
    with pytest.raises(InterpretationError, match="store to a constant"):
        run_function(module, "k", [])


@pytest.mark.parametrize("op", ["%r = mve.gather_bytes", "mve.scatter_bytes %zeros,"])
def test_no_byte_outside_of_the_reach(op: str) -> None:
    module = parse(f"""
    func.func @k(%x: memref<20xi8>, %i: index, %p: memref<16xi8>) {{
      %zero = arith.constant 0 : index
      %none = arith.constant 0 : i32
      %zeros = mve.splat %none : i32 -> vector<16xi8>
      %at = mve.load %p[%zero] : memref<16xi8> -> vector<16xi8>
      {op} %x[%i] at %at reach 9 : memref<20xi8>
      func.return
    }}""")
    data, near = np.zeros(20, np.int8), np.arange(16, dtype=np.int8) % 9
    for index in (0, 11):
        run_function(module, "k", [data, np.array(index), near])
    for index, places, message in (
        (12, near, "outside a buffer of shape"),
        (3, near + np.int8(1), "place 9 is beyond the reach of 9"),
        (3, near - np.int8(1), "place 255 is beyond the reach of 9"),
    ):
        with pytest.raises(InterpretationError, match=message):
            run_function(module, "k", [data, np.array(index), places])
