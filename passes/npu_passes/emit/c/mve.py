"""Prints the ops of the mve dialect that are statements: loads and stores of vectors.

    %x = mve.load %m[%i] : memref<64xi8> -> vector<16xi8>

becomes

    const npu_i8x16 x = npu_mve_load_i8x16_int8(&m[i]);

A vector is loaded where its op stands, as a word is (`dsp.py`).
"""

from __future__ import annotations

from npu_dialect import mve
from npu_passes.emit.c.body import Body
from npu_passes.emit.c.dsp import address
from npu_passes.emit.c.expr import Expr, Linear, call, scaled
from npu_passes.emit.c.mve_access import gathers, load, offsets_of, store, widens
from npu_passes.emit.c.mve_helpers import use
from npu_passes.emit.c.mve_places import gather, gather_bytes, scatter


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


def print_scatter(body: Body, op: mve.ScatterOp) -> None:
    """Print the store of bytes that lie apart."""
    arguments = address(body, op), body.use(op.places), body.use(op.value)
    body.flush()
    body.line(f"{use(body.unit, *scatter(op))}({', '.join(each.text for each in arguments)});")


def step_of(op: mve.LoadOp | mve.StoreOp) -> tuple[Expr, ...]:
    """The distance of neighbouring elements, if there are gaps between them."""
    return () if op.step == 1 else (Expr(str(op.step)),)
