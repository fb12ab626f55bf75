"""Prints the ops of the mve dialect that are statements: loads and stores of vectors.

    %x = mve.load %m[%i] : memref<64xi8> -> vector<16xi8>

becomes

    const npu_i8x16 x = npu_mve_load_i8x16_int8(&m[i]);

A vector is loaded where its op stands, as a word is (`dsp.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from npu_dialect import mve
from npu_passes.emit.c.body import Body
from npu_passes.emit.c.dsp import address, place_of
from npu_passes.emit.c.dsp_helpers import use_macro
from npu_passes.emit.c.expr import Expr, Linear, call, scaled
from npu_passes.emit.c.macros import INLINE
from npu_passes.emit.c.mve_access import gathers, load, offsets_of, store, widens
from npu_passes.emit.c.mve_helpers import use
from npu_passes.emit.c.mve_places import gather, gather_bytes, scatter, scatter_bytes
from npu_passes.emit.c.mve_rows import Rows
from npu_passes.emit.c.mve_runs import Runs
from npu_passes.emit.c.types import memref_of


def print_load_vector(body: Body, op: mve.LoadOp) -> None:
    """Print the load of a vector into a constant, or into a variable that a loop carries."""
    at, *offset = near(body, op) if widens(op) or gathers(op) else (address(body, op),)
    place = at, *step_of(op), *offset
    expr = call(use(body.unit, *load(op)), *place)
    if op.result in body.variables.owner:
        body.define(op.result, expr)
    else:
        body.print_named(op.result, expr)


def print_gather(body: Body, op: mve.GatherOp | mve.GatherBytesOp) -> None:
    """Print the load of bytes that lie apart."""
    arguments = address(body, op), body.use(op.places)
    found = gather(op) if isinstance(op, mve.GatherOp) else gather_bytes(op)
    body.print_named(op.result, call(use(body.unit, *found), *arguments))


def near(body: Body, op: mve.LoadOp) -> tuple[Expr, Expr]:
    """A pointer, and the offset of the elements from it, which fits into the instruction.

    Loads at constant distances so share pointers.
    """
    found, pointer = address(body, op), body.pointers[op.memref]
    index = scaled(body.use(op.index), op.step).plus(Linear((), pointer.start))
    offset = index.constant % offsets_of(op)
    text, _ = index.plus(Linear((), -offset)).render()
    at = Expr(f"&{pointer.name}[{text}]", memory=found.memory, reads=found.reads)
    return at, Expr(str(offset))


def print_store_vector(body: Body, op: mve.StoreOp) -> None:
    """Print the store of a vector."""
    target, value = address(body, op), body.use(op.value)
    body.flush()
    arguments = ", ".join(each.text for each in (target, *step_of(op), value))
    body.line(f"{use(body.unit, *store(op))}({arguments});")


def print_scatter(body: Body, op: mve.ScatterOp | mve.ScatterBytesOp) -> None:
    """Print the store of bytes that lie apart."""
    arguments = address(body, op), body.use(op.places), body.use(op.value)
    body.flush()
    found = scatter(op) if isinstance(op, mve.ScatterOp) else scatter_bytes(op)
    body.line(f"{use(body.unit, *found)}({', '.join(each.text for each in arguments)});")


def print_pack(body: Body, op: mve.PackOp) -> None:
    """Print an array of vectors."""
    values = ", ".join(each.text for each in body.use_all(op.x))
    body.unit.use_vectors()
    name = body.name_for(op.result)
    body.line(f"const npu_i8x16 {name}[{len(op.x)}] = {{{values}}};")
    body.values[op.result] = Expr(name)


def print_mul_rows(body: Body, op: mve.MulRowsOp) -> None:
    """Print the call of a function that writes each sum into a variable."""
    (at, offset), x = reached(body, op), [each.text for each in body.use_all(op.x)]
    if op.packed:
        rows, starts = Runs.packed(op), offset_by(at, offset)
        values = {
            "x": f"(const int8_t *){x[0]}",
            "apart": str(mve.VECTOR_BYTES * op.vectors),
            "at": offset_by(at, offset + op.head),
            "starts": starts,
        }
        print_sums(body, op, rows, [values[name] for name in rows.names])
        return
    print_sums(body, op, Rows.of(op), [*x, at, str(offset)])


def offset_by(pointer: str, offset: int) -> str:
    """A pointer to an element some elements farther."""
    return f"{pointer} + {offset}" if offset else pointer


def print_mul_runs(body: Body, op: mve.MulRunsOp) -> None:
    """Print the call of a function that writes each sum into a variable."""
    rows, own = body.use(op.rows).text, op.numbers
    runs = Runs.of(op, once=rows == "1")
    places = {"x": (op.memref, op.index), "at": (op.table, op.first)}
    if op.starts is not None and op.start is not None:
        places["starts"] = op.starts, op.start
    values = {name: place_of(body, *place).text for name, place in places.items()}
    numbers = "apart", "rest", "lead", "across", "pitch", "step"
    values |= {name: str(getattr(own, name)) for name in numbers}
    values["rows"] = rows
    print_sums(body, op, runs, [values[name] for name in runs.names])


def print_sums(
    body: Body, op: mve.MulRowsOp | mve.MulRunsOp, function: Rows | Runs, given: Sequence[str]
) -> None:
    """Print the call of a function that writes vectors of sums, behind what it is given."""
    names = [body.name_for(each) for each in op.sums]
    use_macro(body.unit, INLINE)
    called = use(body.unit, function.name, function.helper)
    body.line(f"npu_i32x4 {', '.join(names)};")
    body.add_to_line(f"{called}({', '.join((*given, *(f'&{name}' for name in names)))});")
    for result, name in zip(op.sums, names, strict=True):
        body.values[result] = Expr(name)


def reached(body: Body, op: mve.MulRowsOp) -> tuple[str, int]:
    """A pointer, and the distance of the first word from it, if the instructions reach all words.

    Else the pointer is that of the first word.
    """
    pointer = body.pointers[op.memref]
    body.unit.ctype(memref_of(op.memref).element_type)
    index = body.use(op.index).as_linear.plus(Linear((), pointer.start))
    offset = index.constant if 0 <= index.constant <= mve.ROWS_REACH - op.words else 0
    text, _ = index.plus(Linear((), -offset)).render()
    return f"&{pointer.name}[{text}]", offset


def step_of(op: mve.LoadOp | mve.StoreOp) -> tuple[Expr, ...]:
    """The distance of neighbouring elements, if there are gaps between them."""
    return () if op.step == 1 else (Expr(str(op.step)),)
