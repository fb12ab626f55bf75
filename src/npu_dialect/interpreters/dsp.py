"""The meaning of loads and stores of words; words are Python integers in the signed range of i32.

`expressions.py` has the arithmetic on words.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from npu_dialect import dsp
from npu_dialect.interpreters.values import Array

WORD = Struct("<i")

LARGEST = 2**31 - 1
SMALLEST = -(2**31)


def rounded(x: np.float32) -> int:
    """The nearest integer, ties to even, saturated to i32; 0 for NaN."""
    if np.isnan(x):
        return 0
    if not SMALLEST <= x <= LARGEST:
        return LARGEST if x > 0 else SMALLEST
    return min(int(np.rint(x)), LARGEST)


def scaled_pair(a: int, b: int, x: np.float32, y: np.float32) -> int:
    """The nearest integers of a * x, in the low word, and of b * y, in the high word of an i64."""
    low, high = (rounded(np.float32(number) * scale) for number, scale in ((a, x), (b, y)))
    return high << 32 | low & 0xFFFFFFFF


def scaled_bytes(a: int, b: int, x: np.float32, y: np.float32) -> int:
    """The nearest integers of a * x and of b * y from 0 to 255, as the halves of a word."""
    low, high = (rounded(np.float32(number) * scale) for number, scale in ((a, x), (b, y)))
    return min(max(high, 0), 255) << 16 | min(max(low, 0), 255)


def rescaled(op: dsp.RescaleOp) -> Callable[[int, int], int]:
    """The function that multiplies a sum with its scale, rounds and holds it, as an op says."""
    low, high = op.bounds
    unit = np.float32(op.unit)

    def found(x: int, factor: int) -> int:
        return min(max(rounded(np.float32(x) * (np.float32(factor) * unit)), low), high)

    return found


def load_word(buffer: Array, index: int) -> int:
    """Four bytes of a vector as a word, the lowest byte first, from an element on.

    Raises: InterpretationError if one is outside the buffer.
    """
    if not 0 <= index <= buffer.size - dsp.WORD_BYTES // buffer.itemsize:
        raise outside(buffer, index)
    return WORD.unpack_from(buffer.data, index * buffer.itemsize)[0]


def load_pair(buffer: Array, index: int) -> tuple[int, int]:
    """Two neighbouring elements of a vector of words.

    Raises: InterpretationError if one is outside the buffer.
    """
    if not 0 <= index <= buffer.size - dsp.PAIR:
        raise outside(buffer, index)
    return buffer.item(index), buffer.item(index + 1)


def load_floats(op: dsp.LoadFloatsOp) -> Callable[[Array, int], tuple[np.float32, ...]]:
    """The function that loads the neighbouring floats of an op, from an element of a vector on.

    It raises: InterpretationError if one is outside the buffer.
    """
    count = op.words

    def loaded(buffer: Array, index: int) -> tuple[np.float32, ...]:
        if not 0 <= index <= buffer.size - count:
            raise outside(buffer, index)
        return tuple(buffer[index : index + count])

    return loaded


def store_floats(op: dsp.StoreFloatsOp) -> Callable[..., None]:
    """The function that stores the floats of an op to neighbouring elements of a vector.

    It raises: InterpretationError if one is outside the buffer, or the buffer is read-only.
    """
    count = op.words

    def store(*operands: Any) -> None:
        *values, buffer, index = operands
        if not 0 <= index <= buffer.size - count:
            raise outside(buffer, index)
        if not buffer.flags.writeable:
            raise InterpretationError("store to a constant")
        buffer[index : index + count] = values

    return store


def store_word(value: int, buffer: Array, index: int) -> None:
    """Store a word as four bytes of a vector, the lowest byte first, from an element on.

    Raises: InterpretationError if one is outside the buffer, or the buffer is read-only.
    """
    if not 0 <= index <= buffer.size - dsp.WORD_BYTES // buffer.itemsize:
        raise outside(buffer, index)
    if not buffer.flags.writeable:
        raise InterpretationError("store to a constant")
    WORD.pack_into(buffer.data, index * buffer.itemsize, value)


def copy_words(op: dsp.CopyWordsOp) -> Callable[[Array, int, Array, int], None]:
    """The function that copies the words of an op, from elements of two vectors on.

    It raises: InterpretationError if a word is outside its buffer, or the target is read-only.
    """
    count = op.elements

    def copy(source: Array, first: int, target: Array, start: int) -> None:
        for buffer, index in ((source, first), (target, start)):
            if not 0 <= index <= buffer.size - count:
                raise outside(buffer, index)
        if not target.flags.writeable:
            raise InterpretationError("store to a constant")
        target[start : start + count] = source[first : first + count].copy()

    return copy


def outside(buffer: Array, index: int) -> InterpretationError:
    """The error for a word that is not inside its buffer."""
    return InterpretationError(f"word at {index} outside a buffer of shape {list(buffer.shape)}")


@register_impls
class DspFunctions(InterpreterFunctions):
    """The ops of the dsp dialect that are more than arithmetic, for xDSL's interpreter."""

    @impl(dsp.LoadWordOp)
    def run_load_word(self, _: Interpreter, op: dsp.LoadWordOp, args: PythonValues) -> PythonValues:
        """Load four bytes as a word."""
        return (load_word(*args),)

    @impl(dsp.LoadPairOp)
    def run_load_pair(self, _: Interpreter, op: dsp.LoadPairOp, args: PythonValues) -> PythonValues:
        """Load two neighbouring words."""
        return load_pair(*args)

    @impl(dsp.LoadFloatsOp)
    def run_load_floats(
        self, _: Interpreter, op: dsp.LoadFloatsOp, args: PythonValues
    ) -> PythonValues:
        """Load neighbouring floats."""
        return load_floats(op)(*args)

    @impl(dsp.StoreWordOp)
    def run_store_word(
        self, _: Interpreter, op: dsp.StoreWordOp, args: PythonValues
    ) -> PythonValues:
        """Store a word as four bytes."""
        store_word(*args)
        return ()

    @impl(dsp.StoreFloatsOp)
    def run_store_floats(
        self, _: Interpreter, op: dsp.StoreFloatsOp, args: PythonValues
    ) -> PythonValues:
        """Store neighbouring floats."""
        store_floats(op)(*args)
        return ()

    @impl(dsp.CopyWordsOp)
    def run_copy_words(
        self, _: Interpreter, op: dsp.CopyWordsOp, args: PythonValues
    ) -> PythonValues:
        """Copy words."""
        copy_words(op)(*args)
        return ()

    @impl(dsp.RoundOp)
    def run_round(self, _: Interpreter, op: dsp.RoundOp, args: PythonValues) -> PythonValues:
        """The nearest integer."""
        return (rounded(args[0]),)

    @impl(dsp.ScalePairOp)
    def run_scale_pair(
        self, _: Interpreter, op: dsp.ScalePairOp, args: PythonValues
    ) -> PythonValues:
        """Two integers times their scales."""
        return (scaled_pair(*args),)

    @impl(dsp.ScaleBytesOp)
    def run_scale_bytes(
        self, _: Interpreter, op: dsp.ScaleBytesOp, args: PythonValues
    ) -> PythonValues:
        """Two integers times their scales, as bytes."""
        return (scaled_bytes(*args),)

    @impl(dsp.RescaleOp)
    def run_rescale(self, _: Interpreter, op: dsp.RescaleOp, args: PythonValues) -> PythonValues:
        """A sum times its scale."""
        return (rescaled(op)(*args),)

    @impl(dsp.KeepOrderOp)
    def run_keep_order(
        self, _: Interpreter, op: dsp.KeepOrderOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing, as the interpreter runs all ops in order."""
        return ()

    @impl(dsp.OpaqueOp)
    def run_opaque(self, _: Interpreter, op: dsp.OpaqueOp, args: PythonValues) -> PythonValues:
        """The buffer."""
        return (args[0],)
