"""Prints the ops of the dsp dialect that are statements: loads, stores, copies, keep_order.

    %x = dsp.load_word %m[%i] : memref<64xi8> -> i32
    %v, %w = dsp.load_pair %taps[%i] : memref<64xi32> -> i32, i32
    dsp.keep_order

becomes

    const int32_t x = npu_dsp_load_word(&m[i]);
    int32_t v, w; npu_dsp_load_pair(&taps[i], &v, &w); NPU_KEEP_ORDER();

A word is loaded where its op stands, not where it is read: the lowering has chosen the order of
loads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.emit.c import copied_words, loaded_floats
from npu_passes.emit.c.body import Body, Pointer
from npu_passes.emit.c.dsp_helpers import use_helper, use_macro
from npu_passes.emit.c.expr import Expr, call
from npu_passes.emit.c.macros import INLINE, KEEP_ORDER, OPAQUE, keep_sums, keep_sums_name
from npu_passes.emit.c.memory import element, qualified
from npu_passes.emit.c.types import memref_of

BEFORE, BEHIND = 112, 128
"""Bytes in front of a pointer and behind it whose vectors a load reaches by its own offset."""

Access: TypeAlias = (
    dsp.LoadWordOp
    | dsp.LoadPairOp
    | dsp.LoadFloatsOp
    | dsp.StoreWordOp
    | dsp.StoreFloatsOp
    | mve.LoadOp
    | mve.StoreOp
    | mve.PlacesOp
)


def address(body: Body, op: Access) -> Expr:
    """The address of a word or vector as an expression."""
    return place_of(body, op.memref, op.index)


def place_of(body: Body, buffer: SSAValue, index: SSAValue) -> Expr:
    """The address of an element of a vector as an expression."""
    body.unit.ctype(memref_of(buffer).element_type)
    found = element(body, buffer, [body.use(index)])
    return Expr(f"&{found.text}", memory=found.memory, reads=found.reads)


def print_load_word(body: Body, op: dsp.LoadWordOp) -> None:
    """Print the load of a word into a constant, or into a variable that a loop carries."""
    expr = call(use_helper(body.unit, "load_word"), address(body, op))
    if op.result in body.variables.owner:
        body.define(op.result, expr)
    else:
        body.print_named(op.result, expr)


def print_load_pair(body: Body, op: dsp.LoadPairOp) -> None:
    """Print the load of two words into two variables, which nothing changes afterwards."""
    print_loads(body, op, use_helper(body.unit, "load_pair"))


def print_loads(body: Body, op: dsp.LoadPairOp | dsp.LoadFloatsOp, helper: str) -> None:
    """Print the call of a function that loads each result into a variable."""
    place = address(body, op).text
    names = [body.name_for(result) for result in op.results]
    kind = body.unit.ctype(op.results[0].type).name
    body.line(f"{kind} {', '.join(names)};")
    body.add_to_line(f"{helper}({place}, {', '.join(f'&{name}' for name in names)});")
    for result, name in zip(op.results, names, strict=True):
        body.values[result] = Expr(name)


def print_load_floats(body: Body, op: dsp.LoadFloatsOp) -> None:
    """Print the load of some floats into variables, which nothing changes afterwards."""
    shape = op.words, op.first
    name, helper = loaded_floats.name_of(*shape), loaded_floats.load_of(*shape)
    use_macro(body.unit, INLINE)
    body.unit.helpers.setdefault(name, helper.text(name))
    print_loads(body, op, name)


def print_store_word(body: Body, op: dsp.StoreWordOp) -> None:
    """Print the store of a word."""
    target, value = address(body, op), body.use(op.value)
    body.flush()
    body.line(f"{use_helper(body.unit, 'store_word')}({target.text}, {value.text});")


def print_store_floats(body: Body, op: dsp.StoreFloatsOp) -> None:
    """Print the store of some floats to neighbouring elements."""
    shape = op.words, op.first
    name, helper = loaded_floats.store_name_of(*shape), loaded_floats.store_of(*shape)
    use_macro(body.unit, INLINE)
    body.unit.helpers.setdefault(name, helper.text(name))
    target, values = address(body, op), [body.use(value).text for value in op.values]
    body.flush()
    body.line(f"{name}({target.text}, {', '.join(values)});")


def print_copy_words(body: Body, op: dsp.CopyWordsOp) -> None:
    """Print the copy of some words."""
    name, helper = copied_words.name_of(op.count), copied_words.copy_of(op.count)
    body.unit.headers.update(helper.headers)
    body.unit.helpers.setdefault(name, helper.text(name))
    target, source = place_of(body, op.target, op.start), place_of(body, op.source, op.first)
    body.flush()
    body.line(f"{name}({target.text}, {source.text});")


def print_keep_order(body: Body, op: dsp.KeepOrderOp) -> None:
    """Print all waiting values, then the macro that keeps compilers from moving memory accesses."""
    body.flush()
    macro = use_macro(body.unit, KEEP_ORDER)
    if op.sums:
        count = len(op.sums)
        macro = keep_sums_name(count)
        body.unit.helpers.setdefault(macro, keep_sums(count))
    names = ", ".join(body.use(value).text for value in op.sums)
    body.add_to_line(f"{macro}({names});")


def print_opaque(body: Body, op: dsp.OpaqueOp) -> None:
    """Print a pointer to a buffer, then the macro that hides where it points.

    Vectors of bytes are loaded from places near their pointer, before and behind it. So it points
    into the middle of a buffer that is larger than what lies behind.
    """
    name, source, type_ = body.name_for(op.result, "buffer"), op.source, memref_of(op.source)
    bytes_ = type_.get_shape()[0] if type_.element_type in BYTE_TYPES else 0
    middle, pointer = middle_of(bytes_), body.pointers[source]
    at = replace(pointer, start=pointer.start + middle)
    body.line(f"{qualified(body, op.source)} *{name} = {at.text};")
    body.add_to_line(f"{use_macro(body.unit, OPAQUE)}({name});")
    body.pointers[op.result] = Pointer(name, -middle)


def middle_of(bytes_: int) -> int:
    """The byte of a buffer to which a pointer points, so that its vectors are in reach."""
    if not BEHIND < bytes_ <= BEFORE + BEHIND:
        return 0
    return -(-(bytes_ - BEHIND) // mve.VECTOR_BYTES) * mve.VECTOR_BYTES
