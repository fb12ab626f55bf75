"""The ops of the dsp dialect in the interpreter, compared with numpy; mistakes are errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32, i8, i32
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.transforms.common_subexpression_elimination import cse
from xdsl.transforms.dead_code_elimination import dce
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from helpers.dsp_program import BEFORE, Case, expected, program
from npu_dialect import dsp
from npu_dialect.interpreters import run_function
from npu_tools.shared.installed import context

SMALL = 8
INT32 = st.integers(-(2**31), 2**31 - 1)


def parse(text: str) -> ModuleOp:
    """Parse a text to a verified module."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


MODULE = parse(program(SMALL))


def check(module: ModuleOp, case: Case) -> None:
    """Check that the interpreter and numpy agree."""
    for found, wanted in zip(run_function(module, None, case.arrays), expected(case), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_extremes_and_random_words() -> None:
    check(parse(program()), Case.of(seed=0))


@given(
    st.lists(INT32, min_size=3 * SMALL, max_size=3 * SMALL),
    st.lists(st.floats(width=32), min_size=SMALL, max_size=SMALL),
    st.binary(min_size=SMALL + BEFORE + 3, max_size=SMALL + BEFORE + 3),
)
@settings(max_examples=30, deadline=None)
def test_any_words(words: list[int], floats: list[float], data: bytes) -> None:
    a, b, acc = np.array(words, np.int32).reshape(3, SMALL)
    unsigned = np.frombuffer(data, np.uint8)
    case = Case(a, b, acc, np.array(floats, np.float32), unsigned.view(np.int8), unsigned)
    check(MODULE, case)


def access(op: str, at: int, data: NDArray[Any]) -> NDArray[Any]:
    """Run a load or a store in `%m`, an output that is as long as `data`."""
    kind = f"memref<{data.size}xi{8 * data.itemsize}, #npu.sram>"
    ops = {
        "load": f"%w = dsp.load_word %m[%at] : {kind} -> i32",
        "pair": f"%w, %v = dsp.load_pair %m[%at] : {kind} -> i32, i32",
        "store": f"%w = arith.constant 67305985 : i32\ndsp.store_word %w, %m[%at] : i32, {kind}",
    }
    text = f"""
    func.func @f(%m: {kind} {{sram.input, sram.output}}) {{
      %at = arith.constant {at} : index
      {ops[op]}
      func.return
    }}"""
    (found,) = run_function(parse(text), None, [data])
    return found


@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("at", [-1, 3, 7])
def test_no_byte_outside_of_a_buffer(op: str, at: int) -> None:
    data = np.arange(6, dtype=np.int8)
    with pytest.raises(InterpretationError, match=f"word at {at} outside a buffer of shape"):
        access(op, at, data)


@pytest.mark.parametrize("at", [-1, 2])
def test_no_word_outside_of_a_buffer(at: int) -> None:
    with pytest.raises(InterpretationError, match=f"word at {at} outside a buffer of shape"):
        access("pair", at, np.arange(3, dtype=np.int32))


@pytest.mark.parametrize("at", [-1, 0, 1, 2])
@pytest.mark.parametrize("looped", [False, True])
def test_floats_are_stored_inside_of_a_buffer(at: int, *, looped: bool) -> None:
    kind = "memref<3xf32, #npu.sram>"
    store = f"dsp.store_floats %a, %b from 4 to %m[%at] : f32, f32 to {kind}"
    loop = f"scf.for %i = %zero to %one step %one {{ {store} }}" if looped else store
    text = f"""
    func.func @f(%m: {kind} {{sram.input, sram.output}}) {{
      %at = arith.constant {at} : index
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %a = arith.constant 5.0 : f32
      %b = arith.constant 6.0 : f32
      {loop}
      func.return
    }}"""
    wanted = np.zeros(3, np.float32)
    if at not in (0, 1):
        with pytest.raises(InterpretationError, match=f"word at {at} outside a buffer of shape"):
            run_function(parse(text), None, [wanted])
        return
    (found,) = run_function(parse(text), None, [wanted])
    wanted[at : at + 2] = 5, 6
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("first", "start"), [(-1, 0), (5, 0), (0, -1), (0, 5), (3, 0), (0, 3)])
@pytest.mark.parametrize("looped", [False, True])
def test_copies_stay_in_their_buffers(first: int, start: int, *, looped: bool) -> None:
    """All words are loaded before one is stored, also if the two places overlap."""
    kind = "memref<12xi16, #npu.sram>"
    loop = (
        "%one = arith.constant 1 : index\n%zero = arith.constant 0 : index\n"
        "scf.for %i = %zero to %one step %one {{ {} }}"
    )
    copy = f"dsp.copy_words 4 from %m[%first] to %m[%start] : {kind}, {kind}"
    text = f"""
    func.func @f(%m: {kind} {{sram.input, sram.output}}) {{
      %first = arith.constant {first} : index
      %start = arith.constant {start} : index
      {loop.format(copy) if looped else copy}
      func.return
    }}"""
    data = np.arange(12, dtype=np.int16)
    if not (0 <= first <= 4 and 0 <= start <= 4):
        with pytest.raises(InterpretationError, match="outside a buffer of shape"):
            run_function(parse(text), None, [data])
        return
    (found,) = run_function(parse(text), None, [data.copy()])
    wanted = data.copy()
    wanted[start : start + 8] = data[first : first + 8]
    np.testing.assert_array_equal(found, wanted)


def test_the_lowest_byte_is_stored_first() -> None:
    stored = access("store", 2, np.full(6, -1, np.int8))
    np.testing.assert_array_equal(stored, [-1, -1, 1, 2, 3, 4])


def test_no_store_to_a_constant() -> None:
    text = """
    "memref.global"() <{sym_name = "g", sym_visibility = "private", type = memref<4xi8>,
        initial_value = dense<1> : tensor<4xi8>, constant}> : () -> ()
    func.func @f() {
      %g = memref.get_global @g : memref<4xi8>
      %zero = arith.constant 0 : index
      %w = arith.constant 0 : i32
      dsp.store_word %w, %g[%zero] : i32, memref<4xi8>
      func.return
    }"""
    with pytest.raises(InterpretationError, match="store to a constant"):
        run_function(parse(text), "f", [])


@pytest.mark.parametrize("loops", [False, True])
def test_an_opaque_buffer_is_the_same(*, loops: bool) -> None:
    """Also in a loop, which the interpreter translates."""
    body = """
      %near = dsp.opaque %x : memref<4xi32>
      %a = memref.load %near[%i] : memref<4xi32>
      memref.store %a, %y[%i] : memref<4xi32>"""
    loop = f"scf.for %i = %zero to %count step %one {{{body}\n}}"
    text = f"""
    func.func @f(%x: memref<4xi32> {{sram.input}}, %y: memref<4xi32> {{sram.output}}) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %count = arith.constant 4 : index
      {loop if loops else body.replace("%i", "%one")}
      func.return
    }}"""
    x = np.arange(1, 5, dtype=np.int32)
    (y,) = run_function(parse(text), None, [x])
    np.testing.assert_array_equal(y if loops else y[1], x if loops else 2)


def test_constructors_are_what_the_text_says() -> None:
    a, b, acc, x = (create_ssa_value(kind) for kind in (i32, i32, i32, f32))
    for value, name in zip((a, b, acc, x), ("a", "b", "acc", "x"), strict=True):
        value.name_hint = name
    m = create_ssa_value(MemRefType(i8, [4]))
    m.name_hint = "m"
    made: dict[Operation, str] = {
        dsp.Sxtb16Op(a, 8): "%0 = dsp.sxtb16 %a rotate 8 : i32",
        dsp.Uxtb16Op(a): "%0 = dsp.uxtb16 %a rotate 0 : i32",
        dsp.Sxtab16Op(a, b): "%0 = dsp.sxtab16 %a, %b rotate 0 : i32",
        dsp.Uxtab16Op(a, b, 8): "%0 = dsp.uxtab16 %a, %b rotate 8 : i32",
        dsp.SmladOp(a, b, acc): "%0 = dsp.smlad %a, %b, %acc : i32",
        dsp.SmladOp(a, b, acc, in_place=True): "%0 = dsp.smlad %a, %b, %acc in_place : i32",
        dsp.SmlaOp(a, b, acc, "tb"): "%0 = dsp.smla %a, %b, %acc halves tb : i32",
        dsp.PackOp(a, b, "bt"): "%0 = dsp.pack %a, %b halves bt : i32",
        dsp.RoundOp(x): "%0 = dsp.round %x : f32 -> i32",
        dsp.SsatOp(a, 16): "%0 = dsp.ssat %a to 16 : i32",
        dsp.UsatOp(a): "%0 = dsp.usat %a to 8 : i32",
        dsp.KeepOrderOp(): "dsp.keep_order",
        dsp.OpaqueOp(m): "%0 = dsp.opaque %m : memref<4xi8>",
    }
    for op, text in made.items():
        op.verify()
        assert str(op) == text


def test_what_optimisers_leave() -> None:
    """Optimisers merge equal pure ops and remove unused ones, but keep loads around a store."""
    module = parse("""
    func.func @f(%m: memref<8xi8>, %t: memref<8xi32>, %i: index, %a: i32) {
      %x = dsp.load_word %m[%i] : memref<8xi8> -> i32
      %v, %w = dsp.load_pair %t[%i] : memref<8xi32> -> i32, i32
      %p = dsp.sxtb16 %x rotate 0 : i32
      %q = dsp.sxtb16 %x rotate 0 : i32
      %s = dsp.smlad %p, %v, %a : i32
      dsp.keep_order
      %unused = dsp.pack %p, %a halves tt : i32
      dsp.store_word %s, %m[%i] : i32, memref<8xi8>
      dsp.keep_order
      %y = dsp.load_word %m[%i] : memref<8xi8> -> i32
      "test.op"(%x, %y) : (i32, i32) -> ()
      func.return
    }""")
    cse(module)
    dce(module)
    names = [op.name.removeprefix("dsp.") for op in module.walk() if op.name.startswith("dsp.")]
    assert names == [
        *("load_word", "load_pair", "sxtb16", "smlad", "keep_order"),
        *("store_word", "keep_order", "load_word"),
    ]
