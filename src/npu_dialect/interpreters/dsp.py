"""The meaning of the ops on packed words; words are Python integers in the signed range of i32."""

from __future__ import annotations

from collections.abc import Callable

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

LARGEST = 2**31 - 1
SMALLEST = -(2**31)


def signed(value: int, bits: int) -> int:
    """The lowest `bits` bits of a number, read as two's complement."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def unsigned(value: int, bits: int) -> int:
    """The lowest `bits` bits of a number, read as unsigned."""
    return value & ((1 << bits) - 1)


def word(bottom: int, top: int) -> int:
    """The word with these halves; of each, only the lowest 16 bits count."""
    return signed(unsigned(bottom, 16) | unsigned(top, 16) << 16, 32)


def half(value: int, letter: str) -> int:
    """The bottom ("b") or top ("t") half of a word, as a signed number."""
    return signed(value >> 16 if letter == "t" else value, 16)


def extended(
    x: int, rotate: int, extend: Callable[[int, int], int], bottom: int = 0, top: int = 0
) -> int:
    """Bytes 0 and 2 of a word (`rotate` 0), or 1 and 3 (8), extended and added to two halves."""
    return word(bottom + extend(x >> rotate, 8), top + extend(x >> (16 + rotate), 8))


def rounded(x: np.float32) -> int:
    """The nearest integer, ties to even, saturated to i32; 0 for NaN."""
    if np.isnan(x):
        return 0
    if not SMALLEST <= x <= LARGEST:
        return LARGEST if x > 0 else SMALLEST
    return min(int(np.rint(x)), LARGEST)


def checked(buffer: Array, index: int) -> slice:
    """The slice of the elements of a word.

    Raises: InterpretationError if one is outside the buffer.
    """
    count = dsp.WORD_BYTES // buffer.itemsize
    if not 0 <= index <= buffer.size - count:
        raise InterpretationError(f"word at {index} outside a buffer of shape {list(buffer.shape)}")
    return slice(index, index + count)


@register_impls
class DspFunctions(InterpreterFunctions):
    """The dsp dialect for xDSL's interpreter."""

    @impl(dsp.LoadWordOp)
    def run_load_word(self, _: Interpreter, op: dsp.LoadWordOp, args: PythonValues) -> PythonValues:
        """Load four bytes as a word, the lowest byte first."""
        buffer, index = args
        return (int.from_bytes(buffer[checked(buffer, index)].tobytes(), "little", signed=True),)

    @impl(dsp.StoreWordOp)
    def run_store_word(
        self, _: Interpreter, op: dsp.StoreWordOp, args: PythonValues
    ) -> PythonValues:
        """Store a word as four bytes, the lowest byte first."""
        value, buffer, index = args
        place = checked(buffer, index)
        if not buffer.flags.writeable:
            raise InterpretationError("store to a constant")
        data = int.to_bytes(value, dsp.WORD_BYTES, "little", signed=True)
        buffer[place] = np.frombuffer(data, buffer.dtype)
        return ()

    @impl(dsp.Sxtb16Op)
    def run_sxtb16(self, _: Interpreter, op: dsp.Sxtb16Op, args: PythonValues) -> PythonValues:
        """Two bytes, sign-extended."""
        return (extended(args[0], op.rotate.value.data, signed),)

    @impl(dsp.Uxtb16Op)
    def run_uxtb16(self, _: Interpreter, op: dsp.Uxtb16Op, args: PythonValues) -> PythonValues:
        """Two bytes, zero-extended."""
        return (extended(args[0], op.rotate.value.data, unsigned),)

    @impl(dsp.Sxtab16Op)
    def run_sxtab16(self, _: Interpreter, op: dsp.Sxtab16Op, args: PythonValues) -> PythonValues:
        """Two bytes, sign-extended and added to halves."""
        z, x = args
        return (extended(x, op.rotate.value.data, signed, z, z >> 16),)

    @impl(dsp.Uxtab16Op)
    def run_uxtab16(self, _: Interpreter, op: dsp.Uxtab16Op, args: PythonValues) -> PythonValues:
        """Two bytes, zero-extended and added to halves."""
        z, x = args
        return (extended(x, op.rotate.value.data, unsigned, z, z >> 16),)

    @impl(dsp.SmladOp)
    def run_smlad(self, _: Interpreter, op: dsp.SmladOp, args: PythonValues) -> PythonValues:
        """The sum of two products and the accumulator."""
        a, b, acc = args
        return (signed(acc + sum(half(a, each) * half(b, each) for each in "bt"), 32),)

    @impl(dsp.SmlaOp)
    def run_smla(self, _: Interpreter, op: dsp.SmlaOp, args: PythonValues) -> PythonValues:
        """The sum of one product and the accumulator."""
        a, b, acc = args
        first, second = op.halves.data
        return (signed(acc + half(a, first) * half(b, second), 32),)

    @impl(dsp.PackOp)
    def run_pack(self, _: Interpreter, op: dsp.PackOp, args: PythonValues) -> PythonValues:
        """A word of two halves."""
        first, second = op.halves.data
        return (word(half(args[0], first), half(args[1], second)),)

    @impl(dsp.RoundOp)
    def run_round(self, _: Interpreter, op: dsp.RoundOp, args: PythonValues) -> PythonValues:
        """The nearest integer."""
        return (rounded(args[0]),)

    @impl(dsp.SsatOp)
    def run_ssat(self, _: Interpreter, op: dsp.SsatOp, args: PythonValues) -> PythonValues:
        """The word, saturated to a signed integer."""
        end = 1 << (op.bits.value.data - 1)
        return (min(max(int(args[0]), -end), end - 1),)

    @impl(dsp.UsatOp)
    def run_usat(self, _: Interpreter, op: dsp.UsatOp, args: PythonValues) -> PythonValues:
        """The word, saturated to an unsigned integer."""
        return (min(max(int(args[0]), 0), (1 << op.bits.value.data) - 1),)

    @impl(dsp.KeepOrderOp)
    def run_keep_order(
        self, _: Interpreter, op: dsp.KeepOrderOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing, as the interpreter runs all ops in order."""
        return ()
