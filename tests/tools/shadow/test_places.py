"""Vectors of bytes that lie apart: the checker follows places of constant tables."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from npu_tools.shadow import NotFollowed, check

TABLE = (
    '"memref.global"() <{{sym_name = "places", type = memref<8xi16, #npu.flash>, '
    "initial_value = dense<{places}> : tensor<8xi16>, "
    'sym_visibility = "private", constant}}> : () -> ()'
)
PROGRAM = (
    TABLE
    + """
func.func @f(%x: memref<20xi8, #npu.sram> {{sram.input, sram.offset = 0 : i64}},
             %y: memref<8xi8, #npu.sram> {{sram.output, sram.offset = 40 : i64}})
    attributes {{sram.arena = 60 : i64}} {{
  %c0 = arith.constant 0 : index
  %t = memref.get_global @places : memref<8xi16, #npu.flash>
  %p = mve.load %t[%c0] : memref<8xi16, #npu.flash> -> vector<8xi16>
  %a = sram.alloc at 20 : memref<20xi8, #npu.sram>
  %v = mve.gather %x[%c0] at %p reach 20 : memref<20xi8, #npu.sram>
  mve.scatter %v, %a[%c0] at %p reach 20{lanes} : memref<20xi8, #npu.sram>
  scf.for %i = %c0 to %count step %one {{
    %k = arith.muli %i, %two : index
    %e = memref.load %a[%k] : memref<20xi8, #npu.sram>
    memref.store %e, %y[%i] : memref<8xi8, #npu.sram>
  }}
  func.return
}}"""
)
NUMBERS = "\n".join(
    f"  %{name} = arith.constant {number} : index"
    for name, number in (("one", 1), ("two", 2), ("count", 8))
)
EVEN = "[0, 2, 4, 6, 8, 10, 12, 14]"


def program(places: str, lanes: str = "") -> str:
    """A program that scatters bytes to places, and reads bytes 0, 2, .. 14."""
    return PROGRAM.format(places=places, lanes=lanes).replace("  %t =", f"{NUMBERS}\n  %t =")


def faults(places: str, lanes: str = "") -> str:
    """What is wrong with the program."""
    return "\n".join(map(str, check(parse(context(), program(places, lanes)))))


def test_bytes_at_their_places_are_written() -> None:
    assert not faults(EVEN)


def test_a_byte_beside_its_place_is_not() -> None:
    assert "byte 12" in faults(EVEN.replace("12", "13"))


def test_a_lane_that_is_masked_stores_nothing() -> None:
    assert "byte 14" in faults(EVEN, " lanes 127")


BYTES = """
"memref.global"() <{{sym_name = "places", type = memref<32xi8, #npu.flash>,
  initial_value = dense<[{places}]> : tensor<32xi8>, sym_visibility = "private", constant}}>
  : () -> ()
func.func @f(%x: memref<40xi8, #npu.sram> {{sram.input, sram.offset = 0 : i64}},
             %y: memref<32xi8, #npu.sram> {{sram.output, sram.offset = 80 : i64}})
    attributes {{sram.arena = 112 : i64}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %t = memref.get_global @places : memref<32xi8, #npu.flash>
  %a = sram.alloc at 40 : memref<40xi8, #npu.sram>
  scf.for %i = %c0 to %c2 step %c1 {{
    %k = arith.muli %i, %c16 : index
    %part = memref.subview %t[%k] [16] [1] : memref<32xi8, #npu.flash>
      to memref<16xi8, strided<[1], offset: ?>, #npu.flash>
    %run = dsp.opaque %part : memref<16xi8, strided<[1], offset: ?>, #npu.flash>
    %p = mve.load %run[%c0] : memref<16xi8, strided<[1], offset: ?>, #npu.flash> -> vector<16xi8>
    %v = mve.gather_bytes %x[%c0] at %p reach 40 : memref<40xi8, #npu.sram>
    mve.scatter_bytes %v, %a[%c0] at %p reach 40 : memref<40xi8, #npu.sram>
  }}
  scf.for %i = %c0 to %c32 step %c1 {{
    %e = memref.load %a[%i] : memref<40xi8, #npu.sram>
    memref.store %e, %y[%i] : memref<32xi8, #npu.sram>
  }}
  func.return
}}"""


BRANCH = """scf.for %i = %c0 to %c32 step %c1 {
    %here = arith.cmpi slt, %i, %c2 : index
    scf.if %here {"""


def faults_of_bytes(places: list[int], *, branch: bool = False) -> str:
    """What is wrong with a program that scatters to 32 places, then reads bytes 0 to 31.

    `branch`: the loop has more steps, in which nothing is scattered.
    """
    text = BYTES.format(places=", ".join(map(str, places)))
    if branch:
        text = text.replace("scf.for %i = %c0 to %c2 step %c1 {", BRANCH, 1)
        text = text.replace("  }\n  scf.for", "  } }\n  scf.for", 1)
    return "\n".join(map(str, check(parse(context(), text))))


def test_bytes_at_places_of_a_part_of_a_table() -> None:
    """The part is another one in each step of the loop."""
    assert not faults_of_bytes(list(range(32)))
    assert "byte 27" in faults_of_bytes([*range(27), *range(28, 33)])
    assert "byte 5" in faults_of_bytes([*range(5), *range(6, 33)])


def test_a_part_of_a_table_in_a_branch() -> None:
    """There is no such part in the steps that do not take the branch."""
    assert not faults_of_bytes(list(range(32)), branch=True)
    assert "byte 27" in faults_of_bytes([*range(27), *range(28, 33)], branch=True)


def test_a_place_outside_of_the_map() -> None:
    assert "outside of its axis (0 to 39)" in faults_of_bytes([*range(31), 40])


def test_places_that_are_not_constant() -> None:
    text = program(EVEN).replace("mve.gather %x[%c0] at %p", "mve.gather %x[%c0] at %q")
    text = text.replace("  %v =", "  %q = mve.add %p, %p : vector<8xi16>\n  %v =")
    with pytest.raises(NotFollowed, match=r"places of a constant table in mve\.gather"):
        check(parse(context(), text))


LOOKUP = """
"memref.global"() <{sym_name = "lookup", type = memref<256xi8, #npu.flash>,
  initial_value = dense<7> : tensor<256xi8>, sym_visibility = "private", constant}> : () -> ()
func.func @f(%x: memref<16xi8, #npu.sram> {sram.input, sram.offset = 0 : i64},
             %y: memref<16xi8, #npu.sram> {sram.output, sram.offset = 16 : i64})
    attributes {sram.arena = 32 : i64} {
  %c0 = arith.constant 0 : index
  %t = memref.get_global @lookup : memref<256xi8, #npu.flash>
  %p = mve.load %x[%c0] : memref<16xi8, #npu.sram> -> vector<16xi8>
  %v = mve.gather_bytes %t[%c0] at %p reach 256 : memref<256xi8, #npu.flash>
  mve.store %v, %y[%c0] : vector<16xi8>, memref<16xi8, #npu.sram>
  func.return
}"""


def test_data_are_places_in_a_table() -> None:
    """Which entries are read does not matter; that all bytes of the output are written does."""
    assert not check(parse(context(), LOOKUP))
    text = LOOKUP.replace("mve.store %v, %y[%c0] :", "mve.store %v, %y[%c0] first 15 :")
    assert "byte 15" in "\n".join(map(str, check(parse(context(), text))))


def test_data_are_no_places_in_a_map() -> None:
    """Bytes that nobody has written might be read."""
    text = LOOKUP.replace(
        "gather_bytes %t[%c0] at %p reach 256 : memref<256xi8, #npu.flash>",
        "gather_bytes %x[%c0] at %p reach 16 : memref<16xi8, #npu.sram>",
    )
    with pytest.raises(NotFollowed, match="places of a constant table"):
        check(parse(context(), text))
