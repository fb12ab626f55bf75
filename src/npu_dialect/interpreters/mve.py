"""The meaning of ops on vectors; a vector is a numpy array of its lanes, which nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from npu_dialect import mve
from npu_dialect.interpreters.fused import fma
from npu_dialect.interpreters.values import Array, dtype_of, wrapped
from npu_dialect.mve.types import as_vector

Meaning = Callable[..., Any]


def lanes_type(type_: Attribute) -> np.dtype[Any]:
    """The numpy type of the lanes of a vector."""
    return dtype_of(as_vector(type_).element_type)


def check_range(buffer: Array, index: int, count: int) -> None:
    """Check that some elements lie inside a buffer.

    Raises: InterpretationError if one does not.
    """
    if not 0 <= index <= buffer.size - count:
        shape = list(buffer.shape)
        raise InterpretationError(f"{count} lanes at {index} outside a buffer of shape {shape}")


def load(op: mve.LoadOp) -> Meaning:
    """How an op loads a vector."""
    count, lanes, kind = op.count, op.lanes, lanes_type(op.result.type)

    def loaded(buffer: Array, index: int) -> Array:
        check_range(buffer, index, count)
        found = np.zeros(lanes, kind)
        found[:count] = buffer[index : index + count].astype(kind)
        return found

    return loaded


def store(op: mve.StoreOp) -> Meaning:
    """How an op stores a vector."""
    count, saturated = op.count, op.saturated is not None

    def stored(value: Array, buffer: Array, index: int) -> None:
        check_range(buffer, index, count)
        if not buffer.flags.writeable:
            raise InterpretationError("store to a constant")
        if saturated:
            byte = np.iinfo(buffer.dtype)
            value = np.clip(halves_of(value), byte.min, byte.max)
        buffer[index : index + count] = value[:count].astype(buffer.dtype)

    return stored


def lanes_at(
    op: mve.EightPlacesOp, buffer: Array, index: int, places: Array
) -> tuple[Array, Array]:
    """The lanes of an access that are loaded or stored, and their elements.

    Raises: InterpretationError if one of them is out of reach or no multiple of the step, or
        outside of the buffer.
    """
    lanes = np.flatnonzero([op.mask >> lane & 1 for lane in range(len(places))])
    found = places.view(np.uint16)[lanes]
    if (found % op.multiple).any():
        raise InterpretationError(f"expected places that are multiples of {op.multiple}")
    return lanes, elements_at(op, buffer, index, found)


def elements_at(op: mve.PlacesOp, buffer: Array, index: int, places: Array) -> Array:
    """The elements at some places.

    Raises: InterpretationError if one of them is out of reach, or outside of the buffer.
    """
    check_range(buffer, index, op.bytes)
    if (places >= op.bytes).any():
        raise InterpretationError(f"place {places.max()} is beyond the reach of {op.bytes}")
    return index + places.astype(np.int64)


def gather(op: mve.GatherOp) -> Meaning:
    """How an op loads bytes that lie apart."""

    def gathered(buffer: Array, index: int, places: Array) -> Array:
        lanes, at = lanes_at(op, buffer, index, places)
        found = np.zeros(len(places), np.int16)
        found[lanes] = buffer[at].view(np.uint8 if op.signed is None else np.int8)
        return found

    return gathered


def gather_bytes(op: mve.GatherBytesOp) -> Meaning:
    """How an op loads 16 bytes that lie apart."""

    def gathered(buffer: Array, index: int, places: Array) -> Array:
        return buffer[elements_at(op, buffer, index, places.view(np.uint8))].view(np.int8)

    return gathered


def scatter(op: mve.ScatterOp) -> Meaning:
    """How an op stores bytes that lie apart."""

    def scattered(value: Array, buffer: Array, index: int, places: Array) -> None:
        lanes, at = lanes_at(op, buffer, index, places)
        ends = np.iinfo(buffer.dtype)
        found = value if op.saturated is None else np.clip(value, ends.min, ends.max)
        put(buffer, at, found[lanes].astype(buffer.dtype))

    return scattered


def scatter_bytes(op: mve.ScatterBytesOp) -> Meaning:
    """How an op stores 16 bytes that lie apart."""

    def scattered(value: Array, buffer: Array, index: int, places: Array) -> None:
        at = elements_at(op, buffer, index, places.view(np.uint8))
        put(buffer, at, value.view(buffer.dtype))

    return scattered


def put(buffer: Array, at: Array, values: Array) -> None:
    """Store elements.

    Raises: InterpretationError if the buffer is constant, or if lanes of one place differ.
    """
    if not buffer.flags.writeable:
        raise InterpretationError("store to a constant")
    buffer[at] = values
    if (buffer[at] != values).any():
        raise InterpretationError("expected equal bytes for lanes with one place")


def mul_across(op: mve.MulAcrossOp) -> Meaning:
    """The sum of products, modulo 2^32."""

    def summed(a: Array, b: Array) -> int:
        return wrapped(op.result.type, int(a.astype(np.int64) @ b.astype(np.int64)))

    return summed


def mla_across(op: mve.MlaAcrossOp) -> Meaning:
    """The sum of products, modulo 2^32."""

    def summed(a: Array, b: Array, acc: int) -> int:
        return wrapped(op.result.type, acc + int(a.astype(np.int64) @ b.astype(np.int64)))

    return summed


def splat(op: mve.SplatOp) -> Meaning:
    """A number in every lane; an integer modulo the width of the lanes."""
    lanes, kind = mve.lanes_of(op.result.type), lanes_type(op.result.type)
    element = as_vector(op.result.type).element_type

    def filled(x: Any) -> Array:
        return np.full(lanes, x if kind == np.float32 else wrapped(element, x), kind)

    return filled


def widen(first: int, x: Array) -> Array:
    """Every second lane of halves, as words."""
    return x[first::2].astype(np.int32)


def mul_long(first: int, a: Array, b: Array) -> Array:
    """The products of every second lane, twice as wide."""
    wide = np.int16 if a.dtype == np.int8 else np.int32
    return a[first::2].astype(wide) * b[first::2].astype(wide)


def mla_long(first: int, a: Array, b: Array, acc: Array) -> Array:
    """Halves plus the products of every second lane of bytes; sums wrap around."""
    return acc + mul_long(first, a, b)


def add_long(first: int, acc: Array, x: Array) -> Array:
    """Words plus every second lane of halves; sums wrap around."""
    return acc + widen(first, x)


def join(*words: int) -> Array:
    """A vector of words."""
    return np.array(words, np.int32)


def mul_lanes(*vectors: Array) -> Array:
    """The sums of the products of the last vector with each of the others."""
    *x, weights = (each.astype(np.int32) for each in vectors)
    return np.array([each @ weights for each in x], np.int32)


def narrow_bytes(op: mve.NarrowBytesOp) -> Meaning:
    """Halves as bytes, saturated."""
    if op.unsigned is None:
        return narrow(np.int8)
    saturated = narrow(np.uint8)

    def narrowed(even: Array, odd: Array) -> Array:
        return saturated(even, odd).view(np.int8)

    return narrowed


def narrow(kind: type[np.integer[Any]]) -> Meaning:
    """Lanes as narrower ones, saturated; `even` and `odd` are the lanes that they become."""
    ends = np.iinfo(kind)

    def narrowed(even: Array, odd: Array) -> Array:
        return np.clip(np.stack([even, odd], axis=1).ravel(), ends.min, ends.max).astype(kind)

    return narrowed


def halves_of(x: Array) -> Array:
    """The low halves of the bits of floats; halves stay as they are."""
    return x.view(np.int32).astype(np.int16) if x.dtype == np.float32 else x


def low_halves(even: Array, odd: Array) -> Array:
    """The low halves of the bits of floats, by turns."""
    return halves_of(np.stack([even, odd], axis=1).ravel())


def to_float(x: Array) -> Array:
    """Each integer as the nearest float."""
    return x.astype(np.float32)


def rounded(x: Array) -> Array:
    """The nearest integers, ties to even, saturated to i32; 0 for NaN."""
    ends = np.iinfo(np.int32)
    whole = np.clip(np.rint(np.nan_to_num(x.astype(np.float64))), ends.min, ends.max)
    return whole.astype(np.int32)


def flushed(x: Array) -> Array:
    """Floats of which the subnormal ones are zero, with their sign."""
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def lanewise(function: Callable[..., Array]) -> Meaning:
    """A function of lanes, of integers that wrap around or of floats without subnormal ones."""

    def computed(*operands: Array) -> Array:
        with np.errstate(all="ignore"):
            return flushed(function(*map(flushed, operands)))

    return computed


def chosen(compare: Callable[[Array, Array], Array]) -> Meaning:
    """The first lane where a comparison holds, else the second; subnormal floats are zeros."""

    def computed(a: Array, b: Array) -> Array:
        return np.where(compare(flushed(a), flushed(b)), a, b)

    return computed


def mla_scalar(a: Array, b: int, acc: Array) -> Array:
    """acc + a * b modulo the size of a lane."""
    return (acc.astype(np.int64) + a.astype(np.int64) * b).astype(acc.dtype)


def fma_scalar(a: Array, b: float, acc: Array) -> Array:
    """acc + a * b, with one `b` for all lanes."""
    return lanewise(fma)(a, np.float32(b), acc)


def above_or_nan(a: Array, b: Array) -> Array:
    """Where `a` is the greater one, or NaN."""
    return (a > b) | np.isnan(a)


def with_scalar(function: Callable[..., Array]) -> Meaning:
    """A function of the lanes of a vector and one number, of which the lowest bits count."""

    def computed(a: Array, b: Any) -> Array:
        number = np.float32(b) if a.dtype == np.float32 else np.array(b).astype(a.dtype)
        return lanewise(function)(a, number)

    return computed


def saturated(a: Array, b: Array) -> Array:
    """a + b, saturated."""
    ends = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) + b.astype(np.int64), ends.min, ends.max).astype(a.dtype)


def push_bytes(old: Array, new: Array) -> Array:
    """The low bytes of halves: of `old` as high bytes, of `new` as low ones."""
    return (old << 8 | new & 0xFF).astype(np.int16)


def push_three(x: Array, first: int) -> Array:
    """The low bytes of a number, and all bytes but the last three."""
    low = np.array([first & 0xFF, first >> 8 & 0xFF, first >> 16 & 0xFF], np.uint8)
    return np.concatenate((low.view(np.int8), x[:-3]))


def set_word(op: mve.SetWordOp) -> Meaning:
    """A vector, four bytes of which are those of a number."""
    first = 4 * op.lane.value.data

    def changed(x: Array, word: int) -> Array:
        found = x.copy()
        found[first : first + 4] = np.array([word]).astype("<i4").view(np.int8)
        return found

    return changed


def shift_in(op: mve.ShiftInOp) -> Meaning:
    """In each word, bytes moved up, with those of another vector where none comes."""
    by = op.bytes
    to, source = (slice(by, None), slice(None, -by)) if by > 0 else (slice(by), slice(-by, None))

    def shifted(fill: Array, x: Array) -> Array:
        found = fill.copy().reshape(-1, 4)
        found[:, to] = x.reshape(-1, 4)[:, source]
        return found.ravel()

    return shifted


def packed(*x: Array) -> Array:
    """Vectors side by side."""
    return np.stack(x)


def words_of_rows(rows: int, vectors: int, tail: int) -> Array:
    """The words [rows, vectors, 4] of a table in which the last vectors lie `tail` words apart."""
    vector, row, word = np.ogrid[:vectors, :rows, :4]
    apart = np.where(vector < vectors - 1, 4, tail)
    return (vector * rows * 4 + row * apart + word).transpose(1, 0, 2)


def mul_rows(op: mve.MulRowsOp) -> Meaning:
    """How an op multiplies vectors with the rows of a table."""
    count, words, head, pixels = op.count, op.words, op.head, len(op.sums)
    places = words_of_rows(count, op.vectors, op.apart)

    def multiplied(*operands: Any) -> Array | tuple[Array, ...]:
        *x, table, index = operands
        check_range(table, index, words)
        biases, rows = np.split(table[index : index + words].astype("<i4"), [head])
        rows = np.stack([rows[each].ravel() for each in places]).view(np.int8)
        of_pixels = np.stack(x).reshape(pixels, -1).astype(np.int64)
        sums = (of_pixels @ rows.astype(np.int64).transpose()).astype(np.int32)
        lanes = np.minimum(np.arange(mve.MOST_ROWS), count - 1)
        found = tuple(each[lanes] + biases if head else each[lanes] for each in sums)
        return found if pixels > 1 else found[0]

    return multiplied


def mul_runs(op: mve.MulRunsOp) -> Meaning:
    """How an op multiplies the runs of windows with those of a table."""
    own, pixels, started = op.numbers, len(op.sums), op.starts is not None
    lanes = np.minimum(np.arange(mve.MOST_ROWS), own.filters - 1)
    run = words_of_rows(own.filters, own.vectors, own.tail)
    behind = np.arange(own.taps) * (own.row_words // own.taps)
    places = np.moveaxis(run + behind[:, None, None, None], 0, 1)

    def multiplied(
        map: Array, at: int, table: Array, first: int, *others: Any
    ) -> Array | tuple[Array, ...]:
        rows = others[-1]
        if rows < 1:
            raise InterpretationError(f"expected at least one row, got {rows}")
        flips = 128 if map.dtype == np.uint8 else 0
        totals = np.zeros((pixels, own.filters), np.int64)
        if started:
            starts, start = others[:2]
            check_range(starts, start, own.filters)
            totals += starts[start : start + own.filters].astype(np.int64)
        for row in range(rows):
            place, words = at + row * own.pitch, first + row * own.step
            check_range(map, place, op.bytes)
            check_range(table, words, own.words)
            read = table[words : words + own.words].astype("<i4")
            weights = np.stack([read[each].ravel() for each in places]).view(np.int8)
            weights = weights.reshape(own.filters, own.taps, -1).astype(np.int64)
            for pixel, tap in product(range(pixels), range(own.taps)):
                begin = place + pixel * own.apart + tap * own.across
                some = map[begin : begin + own.bytes - own.lead].astype(np.int64) - flips
                totals[pixel] += weights[:, tap, own.lead : own.bytes] @ some
        found = tuple(each.astype(np.int32)[lanes] for each in totals)
        return found if pixels > 1 else found[0]

    return multiplied


def as_floats(x: Array) -> Array:
    """The bits of words as those of floats."""
    return x.view(np.float32)


def as_bytes(x: Array) -> Array:
    """Halves or words as bytes, the lowest one first."""
    return x.astype(x.dtype.newbyteorder("<")).view(np.int8)


def move_up(x: Array) -> Array:
    """Zero, and all lanes but the last one."""
    return np.concatenate((np.zeros(1, x.dtype), x[:-1]))


SIMPLE: dict[type[Operation], Meaning] = {
    mve.JoinOp: join,
    mve.MulLanesOp: mul_lanes,
    mve.PackOp: packed,
    mve.AsFloatsOp: as_floats,
    mve.ToFloatOp: to_float,
    mve.RoundOp: rounded,
    mve.NarrowOp: narrow(np.int16),
    mve.LowHalvesOp: low_halves,
    mve.AddOp: lanewise(np.add),
    mve.MulOp: lanewise(np.multiply),
    mve.XorOp: np.bitwise_xor,
    mve.MaxOp: chosen(np.greater),
    mve.MinOp: chosen(np.less),
    mve.MaximumOp: chosen(above_or_nan),
    mve.FmaOp: lanewise(fma),
    mve.FmaScalarOp: fma_scalar,
    mve.MlaScalarOp: mla_scalar,
    mve.AddScalarOp: with_scalar(np.add),
    mve.MulScalarOp: with_scalar(np.multiply),
    mve.AddSaturatedOp: with_scalar(saturated),
    mve.PushBytesOp: push_bytes,
    mve.PushThreeOp: push_three,
    mve.AsBytesOp: as_bytes,
    mve.MoveUpOp: move_up,
}
"""Ops whose meaning does not depend on their types."""


SIDED: dict[type[Operation], Meaning] = {
    mve.WidenOp: widen,
    mve.MulLongOp: mul_long,
    mve.MlaLongOp: mla_long,
    mve.AddLongOp: add_long,
}
"""Ops on every second lane; their functions also get the first one of these."""


BY_OP: dict[type[Operation], Callable[[Any], Meaning]] = {
    mve.LoadOp: load,
    mve.StoreOp: store,
    mve.MlaAcrossOp: mla_across,
    mve.MulAcrossOp: mul_across,
    mve.GatherOp: gather,
    mve.GatherBytesOp: gather_bytes,
    mve.ScatterOp: scatter,
    mve.ScatterBytesOp: scatter_bytes,
    mve.NarrowBytesOp: narrow_bytes,
    mve.SplatOp: splat,
    mve.ShiftInOp: shift_in,
    mve.SetWordOp: set_word,
    mve.MulRowsOp: mul_rows,
    mve.MulRunsOp: mul_runs,
}
"""Ops whose meaning depends on their types or properties."""


def vector_meaning(op: Operation) -> Meaning | None:
    """The function of an op on vectors, of all its operands; None for another op."""
    if isinstance(op, mve.LongOp):
        return partial(SIDED[type(op)], 0 if op.top is None else 1)
    if (meaning_of := BY_OP.get(type(op))) is not None:
        return meaning_of(op)
    return SIMPLE.get(type(op))


def run_vector(
    _: Any, _interpreter: Interpreter, op: Operation, args: PythonValues
) -> PythonValues:
    """The interpreter's function for all ops of the dialect."""
    meaning = vector_meaning(op)
    assert meaning is not None
    result = meaning(*args)
    if len(op.results) > 1:
        return result
    return (result,) if op.results else ()


@cache  # a class, which each run would make again
def vector_functions() -> InterpreterFunctions:
    """The dialect mve, for xDSL's interpreter."""
    members = {type_.__name__: impl(type_)(run_vector) for type_ in mve.MVE.operations}
    return register_impls(type("MveFunctions", (InterpreterFunctions,), members))()
