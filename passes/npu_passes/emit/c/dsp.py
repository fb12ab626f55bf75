"""The ops of the dsp dialect that are statements: words in memory, and the order of accesses.

    %x = dsp.load_word %m[%i] : memref<64xi8> -> i32
    dsp.keep_order

becomes

    const int32_t x = npu_dsp_load_word(&m[i]);
    NPU_KEEP_ORDER();

A word is loaded where its op stands, whatever reads it: the order of loads is a choice of the
lowering that made them.
"""

from __future__ import annotations

from npu_dialect import dsp
from npu_passes.emit.c.body import Body
from npu_passes.emit.c.dsp_helpers import KEEP_ORDER, use_helper, use_macro
from npu_passes.emit.c.expr import Expr, call
from npu_passes.emit.c.memory import element
from npu_passes.emit.c.types import memref_of


def address(body: Body, op: dsp.LoadWordOp | dsp.StoreWordOp) -> Expr:
    """Where a word begins."""
    body.unit.ctype(memref_of(op.memref).element_type)
    found = element(body, op.memref, [body.use(op.index)])
    return Expr(f"&{found.text}", memory=found.memory, reads=found.reads)


def print_load_word(body: Body, op: dsp.LoadWordOp) -> None:
    """A read, into a constant, or into a variable that a loop carries."""
    expr = call(use_helper(body.unit, "load_word"), address(body, op))
    if op.result in body.variables.owner:
        body.define(op.result, expr)
    else:
        body.print_named(op.result, expr)


def print_store_word(body: Body, op: dsp.StoreWordOp) -> None:
    """A write."""
    target, value = address(body, op), body.use(op.value)
    body.flush()
    body.line(f"{use_helper(body.unit, 'store_word')}({target.text}, {value.text});")


def print_keep_order(body: Body, op: dsp.KeepOrderOp) -> None:
    """What stands before it is computed before it."""
    body.flush()
    body.line(f"{use_macro(body.unit, KEEP_ORDER)}();")
