"""Prints weights as C arrays, or as the bytes of a file.

Floats are printed as the shortest decimals that read back as the same float32. numpy turns a whole
array into text at once, which is fast enough for networks with millions of weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from npu_passes.emit.c.names import comment
from npu_passes.emit.c.program import Program, Weights
from npu_passes.emit.c.types import INTEGERS, bytes_of, element_type, integer_literal, shape_text

PER_LINE = 8
"""The numbers on a line of a small array, which people read."""
SMALL = 64
"""The most numbers in a small array."""
PER_LONG_LINE = 100
"""The numbers on a line of other arrays."""
CHUNK = 1 << 16
"""The numbers that are turned into text at once."""


def array_of(weights: Weights) -> NDArray[Any]:
    """The values of a constant as a flat array, in the order of memory."""
    value = weights.op.initial_value
    assert isinstance(value, DenseIntOrFPElementsAttr), "checked before"
    ctype = element_type(weights.type.element_type)
    assert ctype is not None, "checked before"
    data = np.frombuffer(value.data.data, np.dtype(ctype.numpy))
    count = bytes_of(weights.type) // ctype.bytes
    array = np.repeat(data, count) if data.size == 1 else data[:count]
    return (array != 0).astype("|u1") if ctype.name == "bool" else array


def blob(program: Program) -> bytes:
    """The weights file: little-endian, each tensor at its offset."""
    content = bytearray(program.weights_bytes)
    for weights in program.weights.values():
        data = array_of(weights).tobytes()
        content[weights.offset : weights.offset + len(data)] = data
    return bytes(content)


def definition(program: Program, weights: Weights) -> Iterator[str]:
    """The C array of one constant, in pieces of text."""
    array, type_ = array_of(weights), weights.type
    ctype = element_type(type_.element_type)
    assert ctype is not None, "checked before"
    yield f"/* {comment(weights.op.sym_name.data)}: {shape_text(type_)} */\n"
    name = f"{weights.name}[{max(1, array.size)}]"
    yield f"static const {ctype.name} {name} {weights.section} = {{\n"
    if not array.size:
        yield "    0,\n"
    per_line = PER_LINE if array.size <= SMALL else PER_LONG_LINE
    for start in range(0, array.size, CHUNK):
        yield lines(literals(array[start : start + CHUNK]), per_line)
    yield "};\n"


def lines(numbers: list[str], per_line: int) -> str:
    """The text of some numbers, `per_line` on each line."""
    rows = (numbers[start : start + per_line] for start in range(0, len(numbers), per_line))
    return "".join(f"    {', '.join(row)},\n" for row in rows)


def literals(array: NDArray[Any]) -> list[str]:
    """The C literals of an array."""
    if array.dtype.kind != "f":
        return integer_literals(array)
    suffix = "f" if array.dtype.itemsize == 4 else ""
    texts = [f"{text}{suffix}" for text in array.astype("S").astype("U").tolist()]
    for index in np.flatnonzero(~np.isfinite(array)):
        value = float(array[index])
        texts[index] = "NAN" if np.isnan(value) else "-INFINITY" if value < 0 else "INFINITY"
    return texts


def integer_literals(array: NDArray[Any]) -> list[str]:
    """The C literals of an array of integers."""
    texts = [str(value) for value in array.tolist()]
    if array.dtype.itemsize < 4:
        return texts
    ctype = INTEGERS[8 * array.dtype.itemsize]
    return [integer_literal(value, ctype) for value in array.tolist()]


def needs_math(program: Program) -> bool:
    """Whether a C array holds infinities or NaNs, whose names are in <math.h>."""
    arrays = (array_of(weights) for weights in program.weights.values())
    return program.where == "c" and any(
        array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays
    )
