"""How many bytes of each constant a program reads, counted by hand."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from npu_passes.analysis.constant_reads import constant_reads

FLASH = "memref<8xf32, #npu.flash>"
GLOBAL = (
    f'"memref.global"() <{{sym_name = "w", type = {FLASH}, sym_visibility = "private", constant, '
    "initial_value = dense<1.0> : tensor<8xf32>}> : () -> ()"
)


def reads(body: str, functions: str = "", arguments: str = "") -> int:
    """The bytes of @w that a function reads; %w is the constant, %c0 to %c8 are numbers."""
    numbers = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(9))
    module = parse(
        context(),
        f"""
    func.func @f({arguments}) {{
      {numbers}
      %w = memref.get_global @w : {FLASH}
      {body}
      func.return
    }}
    {functions}
    {GLOBAL}
    """,
    )
    return constant_reads(module).get("w", 0)


LOAD = f"%v = memref.load %w[%c0] : {FLASH}"


def test_loops_multiply() -> None:
    inner = f"scf.for %j = %c1 to %c8 step %c2 {{\n{LOAD}\n}}"
    assert reads(LOAD) == 4
    assert reads(f"scf.for %i = %c0 to %c3 step %c1 {{\n{inner}\n}}\n{LOAD}") == 3 * 4 * 4 + 4


def test_bounds_that_follow_from_outer_counters_are_followed() -> None:
    """0 + 1 + 2 trips."""
    inner = f"scf.for %j = %c0 to %i step %c1 {{\n{LOAD}\n}}"
    assert reads(f"scf.for %i = %c0 to %c3 step %c1 {{\n{inner}\n}}") == 3 * 4


def test_a_loop_of_unknown_bounds_counts_as_one_trip() -> None:
    loop = f"scf.for %i = %c0 to %n step %c1 {{\n{LOAD}\n}}"
    assert reads(loop, arguments="%n: index") == 4


@pytest.mark.parametrize(("condition", "bytes_"), [("true", 4), ("false", 8)])
def test_known_branches(condition: str, bytes_: int) -> None:
    other = LOAD.replace("%v", "%u")
    branch = f"scf.if %t {{\n{LOAD}\n}} else {{\n{LOAD}\n{other}\n}}"
    assert reads(f"%t = arith.constant {condition}\n{branch}") == bytes_


def test_of_a_branch_on_data_the_side_that_reads_more_counts() -> None:
    other = LOAD.replace("%v", "%u")
    more, less = f"{LOAD}\n{other}", LOAD
    for sides in ((more, less), (less, more)):
        branch = "scf.if %t {{\n{}\n}} else {{\n{}\n}}".format(*sides)
        assert reads(branch, arguments="%t: i1") == 8


def test_calls_read_what_they_are_given() -> None:
    """Twice through an argument that is a view, and once by name in the function itself."""
    part = "memref<4xf32, strided<[1], offset: 4>, #npu.flash>"
    functions = f"""
    func.func private @g(%x: {part}) {{
      %c0 = arith.constant 0 : index
      %a = memref.load %x[%c0] : {part}
      %w = memref.get_global @w : {FLASH}
      %v = memref.load %w[%c0] : {FLASH}
      func.return
    }}
    """
    view = f"%p = memref.subview %w[4] [4] [1] : {FLASH} to {part}"
    call = f"func.call @g(%p) : ({part}) -> ()"
    assert reads(f"{view}\n{call}\n{call}", functions) == 2 * (4 + 4)


def test_words_vectors_and_copies() -> None:
    kind = "memref<32xi8, #npu.flash>"
    text = f"""
    func.func @f(%y: {kind.replace("flash", "sram")}) {{
      %c0 = arith.constant 0 : index
      %w = memref.get_global @w : {kind}
      %a = dsp.load_word %w[%c0] : {kind} -> i32
      %b = mve.load %w[%c0] : {kind} -> vector<16xi8>
      %c = mve.load %w[%c0] : {kind} -> vector<4xi32>
      "memref.copy"(%w, %y) : ({kind}, {kind.replace("flash", "sram")}) -> ()
      func.return
    }}
    "memref.global"() <{{sym_name = "w", type = {kind}, sym_visibility = "private", constant,
        initial_value = dense<1> : tensor<32xi8>}}> : () -> ()
    """
    assert constant_reads(parse(context(), text)) == {"w": 4 + 16 + 4 + 32}


@pytest.mark.parametrize(("rows", "bytes_"), [("%c3", 3 * 64 + 16), ("%n", 64 + 16)])
def test_runs(rows: str, bytes_: int) -> None:
    """Sixteen words for each row, and four first values; unknown rows count as one."""
    kind = "memref<64xi32, #npu.flash>"
    text = f"""
    func.func @f(%m: memref<64xi8>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %w = memref.get_global @w : {kind}
      %r = mve.mul_runs %m[%c0] by %w[%c0] from %w[%c0] rows {rows} run 16 apart 0 pitch 16 step 16
        filters 4 : memref<64xi8>, {kind}, {kind} -> vector<4xi32>
      func.return
    }}
    "memref.global"() <{{sym_name = "w", type = {kind}, sym_visibility = "private", constant,
        initial_value = dense<1> : tensor<64xi32>}}> : () -> ()
    """
    assert constant_reads(parse(context(), text)) == {"w": bytes_}
