"""Lowering finds constants in a function, and those passed to it by its only call."""

from __future__ import annotations

import pytest
from xdsl.dialects import memref
from xdsl.dialects.func import CallOp, FuncOp

from helpers.pipeline import context, parse
from npu_dialect.attributes import ZEROS
from npu_passes.lowering.kernels.constants import constant_of, symbol_users
from npu_passes.lowering.unused import drop_unused

GLOBAL = """
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x3xTYPE>,
    initial_value = VALUE : tensor<2x3xTYPE>, constant}> : () -> ()
"""
CALLED = """
func.func @f() {
  %w = memref.get_global @w : memref<2x3xTYPE>
  func.call @g(%w) : (memref<2x3xTYPE>) -> ()
  func.return
}
func.func VISIBILITY @g(%w: memref<2x3xTYPE>) {
  %i = arith.constant 0 : index
  %x = memref.load %w[%i, %i] : memref<2x3xTYPE>
  func.return
}
"""
AGAIN = (
    "func.func @h(%w: memref<2x3xTYPE>) { func.call @g(%w) : (memref<2x3xTYPE>) -> () func.return }"
)
NAMED = '"test.op"() {callee = @g} : () -> ()'


def seen(
    text: str, element: str = "i8", value: str = "dense<[[1, -2, 3], [4, 5, -128]]>"
) -> list[list[int]] | None:
    """The constant numbers that @g loads from, or None if they are not found."""
    whole = (GLOBAL + text).replace("TYPE", element).replace("VALUE", value)
    ctx = context()
    module = parse(ctx, whole.replace("VISIBILITY", "private"))
    (load,) = (op for op in module.walk() if isinstance(op, memref.LoadOp))
    found = constant_of(load.memref, symbol_users(module.walk()))
    return None if found is None else found.tolist()


@pytest.mark.parametrize("element", ["i8", "i32"])
def test_behind_a_call(element: str) -> None:
    assert seen(CALLED, element) == [[1, -2, 3], [4, 5, -128]]


def test_through_two_calls() -> None:
    text = CALLED.replace("@f()", "@top()").replace("@g(%w)", "@f(%w)", 1)
    text += "func.func private @f(%w: memref<2x3xTYPE>) {\n"
    text += "  func.call @g(%w) : (memref<2x3xTYPE>) -> ()\n  func.return\n}\n"
    assert seen(text) == [[1, -2, 3], [4, 5, -128]]


def test_one_number_for_all() -> None:
    assert seen(CALLED, value="dense<7>") == [[7] * 3] * 2


@pytest.mark.parametrize(
    ("text", "element", "value"),
    [
        (CALLED.replace("VISIBILITY ", ""), "i8", "dense<1>"),
        (CALLED + AGAIN, "i8", "dense<1>"),
        (CALLED + NAMED, "i8", "dense<1>"),
        (CALLED, "f64", "dense<1.0>"),
        (AGAIN.replace("@h", "@f") + CALLED[CALLED.index("func.func V") :], "i8", "dense<1>"),
    ],
    ids=["public", "two calls", "named elsewhere", "double floats", "an argument"],
)
def test_not_seen(text: str, element: str, value: str) -> None:
    assert seen(text, element, value) is None


def test_floats_are_seen() -> None:
    assert seen(CALLED, "f32", "dense<1.5>") == [[1.5] * 3] * 2


def test_a_global_that_is_written() -> None:
    whole = (GLOBAL + CALLED).replace(", constant}", "}").replace("VISIBILITY", "private")
    module = parse(context(), whole.replace("TYPE", "i8").replace("VALUE", "dense<1>"))
    (load,) = (op for op in module.walk() if isinstance(op, memref.LoadOp))
    assert constant_of(load.memref, symbol_users(module.walk())) is None


def test_unused_arguments_and_constants_go() -> None:
    unused = CALLED.replace("%x = memref.load %w[%i, %i] : memref<2x3xTYPE>", "")
    public = GLOBAL.replace('"w"', '"kept"').replace('"private"', '"public"')
    whole = (GLOBAL + public + unused).replace("TYPE", "i8").replace("VALUE", "dense<1>")
    module = parse(context(), whole.replace("VISIBILITY", "private"))
    drop_unused(module)
    module.verify()
    names = [op.sym_name.data for op in module.walk() if isinstance(op, memref.GlobalOp)]
    assert names == ["kept"]
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    assert [len(op.function_type.inputs) for op in functions] == [0, 0]


def test_shares_of_zeros_follow_their_arguments() -> None:
    """The first argument is unused, and nobody measured the last one, which was added later."""
    call = "func.call @g(%x, %y, %y) {npu.zeros = array<f64: 0.25, 0.5>}"
    text = f"""
    func.func @f(%x: memref<2xf32>, %y: memref<2xf32>) {{
      {call} : (memref<2xf32>, memref<2xf32>, memref<2xf32>) -> ()
      func.return
    }}
    func.func private @g(%x: memref<2xf32>, %y: memref<2xf32>, %w: memref<2xf32>) {{
      "memref.copy"(%w, %y) : (memref<2xf32>, memref<2xf32>) -> ()
      func.return
    }}"""
    module = parse(context(), text)
    drop_unused(module)
    (left,) = (op for op in module.walk() if isinstance(op, CallOp))
    assert len(left.arguments) == 2
    assert ZEROS.get(left) == (0.5,)


def test_what_is_used_stays() -> None:
    whole = (GLOBAL + CALLED).replace("TYPE", "i8").replace("VALUE", "dense<1>")
    module = parse(context(), whole.replace("VISIBILITY", "private"))
    before = str(module)
    drop_unused(module)
    assert str(module) == before
