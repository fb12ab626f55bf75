"""Prints buffers: pointers, element addresses, loads, stores and copies.

In C a buffer is a pointer to its first element. The strides of its memref type are constants, so an
access is one linear address with folded constants. A view with static offsets has no pointer of its
own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from npu_dialect import dram, sram
from npu_dialect.kept_attributes import Copied, copy_of
from npu_passes.analysis.views import root_of
from npu_passes.emit.c.body import Body, Pointer
from npu_passes.emit.c.buffers import alloc_offset, memory_of
from npu_passes.emit.c.expr import Expr, Linear, Rank, combined, scaled, sum_expr
from npu_passes.emit.c.names import comment
from npu_passes.emit.c.types import is_contiguous, memref_of, shape_text, span_of, strides_of


def element(body: Body, buffer: SSAValue, indices: Sequence[Expr]) -> Expr:
    """The element of a buffer at indices, as an expression that can be assigned."""
    type_, pointer = memref_of(buffer), body.pointers[buffer]
    address = Linear((), pointer.start)
    for index, extent, stride in zip(indices, type_.get_shape(), strides_of(type_), strict=True):
        if extent != 1:
            address = address.plus(scaled(index, stride))
    made = sum_expr(address, *indices)
    return combined(f"{pointer.name}[{made.text}]", Rank.ATOM, *indices)


def print_load(body: Body, op: memref.LoadOp) -> None:
    """Define the value of a load."""
    found = element(body, op.memref, body.use_all(op.indices))
    body.unit.ctype(memref_of(op.memref).element_type)
    if op.memref not in body.constants:
        body.constants[op.memref] = memory_of(op.memref).kind == "weights"
    changes = not body.constants[op.memref] or body.keeps_order
    body.define(op.res, Expr(found.text, memory=found.memory or changes, reads=found.reads))


def print_store(body: Body, op: memref.StoreOp) -> None:
    """Print a store."""
    target = element(body, op.memref, body.use_all(op.indices))
    value = body.use(op.value)
    body.flush()
    body.assign(target.text, value)


def print_copy(body: Body, op: memref.CopyOp) -> None:
    """Print a copy: a memcpy or memmove, or a loop nest if a buffer is not contiguous."""
    source, target = op.source, op.destination
    body.flush()
    if span_of(memref_of(source)) == 0:
        return
    if not (is_contiguous(memref_of(source)) and is_contiguous(memref_of(target))):
        print_copy_loops(body, source, target)
        return
    body.unit.headers.add("string.h")
    function = "memmove" if may_overlap(body, source, target) else "memcpy"
    size = f"{span_of(memref_of(source))} * sizeof({pointee(body, source)})"
    body.line(f"{function}({body.pointers[target].text}, {body.pointers[source].text}, {size});")


def may_overlap(body: Body, source: SSAValue, target: SSAValue) -> bool:
    """Whether two buffers may share bytes; a `restrict` argument shares none with other buffers."""
    roots = (root_of(source), root_of(target))
    arguments = body.function.op.body.block.args
    if roots[0] is not roots[1] and any(
        arguments[index] in roots for index in body.function.restrict
    ):
        return False
    return memory_of(source).may_overlap(memory_of(target))


def print_copy_loops(body: Body, source: SSAValue, target: SSAValue) -> None:
    """Print a loop nest that copies element by element."""
    depth, indices = 0, list[Expr]()
    outer = body.scope, body.depth
    for extent in memref_of(source).get_shape():
        if extent == 1:
            indices.append(Expr("0", linear=Linear((), 0)))
            continue
        body.scope = type(body.scope)(body.scope)
        name = body.scope.fresh(f"i{depth}")
        body.line(f"for ({body.unit.index.name} {name} = 0; {name} < {extent}; ++{name}) {{")
        indices.append(Expr(name))
        depth, body.depth = depth + 1, body.depth + 1
    body.line(f"{element(body, target, indices).text} = {element(body, source, indices).text};")
    for _ in range(depth):
        body.depth -= 1
        body.line("}")
    body.scope, body.depth = outer


def pointee(body: Body, buffer: SSAValue) -> str:
    """The C type of a buffer's elements."""
    return body.unit.ctype(memref_of(buffer).element_type).name


def qualified(body: Body, buffer: SSAValue) -> str:
    """The C type of a buffer's elements, `const` if the function does not write the buffer."""
    const = "" if root_of(buffer) in body.function.written else "const "
    return f"{const}{pointee(body, buffer)}"


def print_alloc(body: Body, op: sram.AllocOp | memref.AllocOp | dram.AllocOp) -> None:
    """Print the pointer of an allocation into an arena, or into the block off the chip."""
    buffer, type_ = op.results[0], memref_of(op.results[0])
    name, offset = body.name_for(buffer, "buffer"), alloc_offset(op)
    place = memory_of(buffer)
    ctype = qualified(body, buffer)
    inner = "const void" if ctype.startswith("const") else "void"
    block, where = "off_chip", "off-chip"
    if place.kind == "arena":
        arena = body.program.arena(place.memory)
        block, where = arena.pointer, arena.where
    address = f"{block} + {offset}" if offset else block
    note = f"{shape_text(type_)}, {where} bytes {place.begin} to {place.end - 1}"
    body.line(f"/* {note} */")
    body.line(f"{ctype} *const {name} = ({ctype} *)({inner} *)({address});")
    body.pointers[buffer] = Pointer(name, type_.get_offset() or 0)


def print_alloca(body: Body, op: memref.AllocaOp) -> None:
    """Print an array on the stack."""
    buffer, type_ = op.memref, memref_of(op.memref)
    name, start = body.name_for(buffer, "local"), type_.get_offset() or 0
    body.line(f"{pointee(body, buffer)} {name}[{max(1, start + span_of(type_))}];")
    body.pointers[buffer] = Pointer(name, start)


def print_global(body: Body, op: memref.GetGlobalOp) -> None:
    """Note the pointer of weights.

    It is the static array, or a printed pointer into the weights file, or to a copy in an arena.
    """
    if (copied := copy_of(op)) is not None:
        print_kept(body, op, copied)
        return
    weights = body.program.weights[op.name_.string_value()]
    type_, name = memref_of(op.memref), weights.name
    if weights.macro is not None:
        ctype = f"const {pointee(body, op.memref)}"
        name = body.name_for(op.memref, "weights")
        address = f"parameters + {weights.macro}"
        body.line(f"{ctype} *const {name} = ({ctype} *)(const void *)({address});")
    body.pointers[op.memref] = Pointer(name, type_.get_offset() or 0)


def print_kept(body: Body, op: memref.GetGlobalOp, copied: Copied) -> None:
    """Print the pointer to the copy of a constant in an arena."""
    arena, type_ = body.program.arena(copied.memory), memref_of(op.memref)
    ctype, name = f"const {pointee(body, op.memref)}", body.name_for(op.memref, "weights")
    symbol = comment(op.name_.string_value())
    body.line(f"/* the copy of {symbol}: {shape_text(type_)}, {arena.where} */")
    address = f"{arena.pointer} + {copied.offset}"
    body.line(f"{ctype} *const {name} = ({ctype} *)(const void *)({address});")
    body.pointers[op.memref] = Pointer(name, type_.get_offset() or 0)


def print_view(body: Body, op: Operation) -> None:
    """Note the pointer of a view; print a pointer only if the view's offset is not a constant."""
    source, result = op.operands[0], op.results[0]
    pointer = body.pointers[source]
    match op:
        case memref.ReinterpretCastOp():
            base = pointer.start - (memref_of(source).get_offset() or 0)
            offset = Linear((), base + op.static_offsets.get_values()[0])
            parts: list[Expr] = []
        case memref.SubviewOp():
            offset, parts = subview_offset(body, op)
            offset = offset.plus(Linear((), pointer.start))
        case _:
            body.pointers[result] = pointer
            return
    if not offset.terms:
        body.pointers[result] = Pointer(pointer.name, offset.constant)
        return
    name, address = body.name_for(result, "view"), sum_expr(offset, *parts).text
    body.line(f"{qualified(body, source)} *const {name} = {pointer.name} + ({address});")
    body.pointers[result] = Pointer(name)


def subview_offset(body: Body, op: memref.SubviewOp) -> tuple[Linear, list[Expr]]:
    """The elements from the first one of the source to the first one of the view.

    The second part of the result are the expressions in that sum.
    """
    dynamic = iter(body.use_all(op.offsets))
    offset, parts = Linear((), 0), list[Expr]()
    strides = strides_of(memref_of(op.source))
    for value, stride in zip(op.static_offsets.get_values(), strides, strict=True):
        if value != DYNAMIC_INDEX:
            offset = offset.plus(Linear((), value * stride))
            continue
        part = next(dynamic)
        parts.append(part)
        offset = offset.plus(scaled(part, stride))
    return offset, parts
