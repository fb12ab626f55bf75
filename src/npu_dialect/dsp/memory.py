"""Loads and stores of words in buffers, and a barrier for the order of accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import element_bytes, is_buffer_type

WORD_BYTES = 4
"""Bytes of a word."""

PAIR = 2
"""Words that one instruction can load."""

MOST_COPIED = 16
"""The most words that one op copies: half of the registers for floats, whose old values no caller
expects back."""


MOST_KEPT = 16
"""The most sums that a barrier keeps in registers."""

FLOAT_REGISTERS = 32
"""The registers for floats: s0 to s31."""

MOST_FLOATS = 16
"""The most floats that one op loads."""


def verify_words(type_: Attribute, widths: Sequence[int], words: int = 1) -> None:
    """Check that a buffer has one axis of contiguous integers, enough for some words.

    `widths` are the bits that an element may have. Raises: VerifyException if it does not fit.
    """
    assert is_buffer_type(type_)
    element = type_.element_type
    if not isa(element, IntegerType) or element.width.data not in widths:
        kinds = " or ".join(f"{width} bits" for width in widths)
        raise VerifyException(f"expected integers of {kinds} in memory, got {type_}")
    count = words * 8 * WORD_BYTES // element.width.data
    verify_vector(type_, count)


def verify_vector(type_: MemRefType[Attribute], count: int) -> None:
    """Check that a buffer has one axis without gaps, and enough elements; raises as above."""
    shape, strides = type_.get_shape(), type_.get_strides()
    if len(shape) != 1 or strides is None or tuple(strides) != (1,):
        raise VerifyException(f"expected one axis without gaps, got {type_}")
    if 0 <= shape[0] < count:
        raise VerifyException(f"expected at least {count} elements, got {type_}")


def verify_floats(type_: Attribute, floats: int, first: int) -> None:
    """Check that a buffer has one axis of so many floats, for registers from `first` on.

    Raises: VerifyException if it does not fit.
    """
    if not PAIR <= floats <= MOST_FLOATS:
        raise VerifyException(f"expected {PAIR} to {MOST_FLOATS} floats, got {floats}")
    if not 0 <= first <= FLOAT_REGISTERS - floats:
        raise VerifyException(
            f"expected registers from s0 to s{FLOAT_REGISTERS - 1}, got {floats} from s{first} on"
        )
    assert is_buffer_type(type_)
    if not isinstance(type_.element_type, Float32Type):
        raise VerifyException(f"expected floats in memory, got {type_}")
    verify_vector(type_, floats)


@irdl_op_definition
class LoadWordOp(IRDLOperation):
    """LDR: loads a word from four consecutive bytes, the first one lowest, at any alignment.

    They are those of the elements from the index on: four of 8 bits, or two of 16.

    ```mlir
    %x = dsp.load_word %image[%i] : memref<64xi8, #npu.sram> -> i32
    %y = dsp.load_word %halves[%i] : memref<64xi16, #npu.sram> -> i32
    ```
    """

    name = "dsp.load_word"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(i32)

    traits = traits_def(MemoryReadEffect())

    assembly_format = "$memref `[` $index `]` attr-dict `:` type($memref) `->` type($result)"

    def __init__(self, memref: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[memref, index], result_types=[i32])

    @property
    def words(self) -> int:
        """The words that it loads."""
        return 1

    def verify_(self) -> None:
        """The buffer is a vector of bytes or of 16-bit halves."""
        verify_words(self.memref.type, (8, 16))


@irdl_op_definition
class LoadPairOp(IRDLOperation):
    """LDRD: loads two neighbouring words, those of the element at the index and of the next one.

    The instruction needs an address that 4 divides. So the elements have 32 bits: a buffer of such
    elements begins at a multiple of 4 bytes, wherever it lies.

    ```mlir
    %a, %b = dsp.load_pair %taps[%i] : memref<64xi32> -> i32, i32
    ```
    """

    name = "dsp.load_pair"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    first = result_def(i32)
    second = result_def(i32)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` attr-dict `:` type($memref) `->` type($first) `,` type($second)"
    )

    def __init__(self, memref: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[memref, index], result_types=[i32, i32])

    @property
    def words(self) -> int:
        """The words that it loads."""
        return PAIR

    def verify_(self) -> None:
        """The buffer is a vector of at least two words."""
        verify_words(self.memref.type, (32,), PAIR)


@irdl_op_definition
class LoadFloatsOp(IRDLOperation):
    """VLDM: loads some neighbouring floats, from the element at the index on.

    The instruction fills neighbouring registers, from `register` on: 4 is s4. Whoever builds the op
    chooses them, so that what is needed at the same time lies in different ones. A C compiler moves
    a value away if its register is loaded again before the last use.

    ```mlir
    %a, %b, %c = dsp.load_floats %row[%i] to 4 : memref<24xf32> -> f32, f32, f32
    ```
    """

    name = "dsp.load_floats"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    register = prop_def(IntegerAttr.constr(i64))
    values = var_result_def(Float32Type)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` `to` $register attr-dict `:` type($memref) `->` type($values)"
    )

    def __init__(self, memref: SSAValue, index: SSAValue, count: int, register: int) -> None:
        super().__init__(
            operands=[memref, index],
            result_types=[[f32] * count],
            properties={"register": IntegerAttr(register, i64)},
        )

    @property
    def words(self) -> int:
        """The words that it loads."""
        return len(self.values)

    @property
    def first(self) -> int:
        """The number of the first register."""
        return self.register.value.data

    def verify_(self) -> None:
        """The buffer is a vector of as many floats, for as many registers."""
        verify_floats(self.memref.type, self.words, self.first)


@irdl_op_definition
class StoreWordOp(IRDLOperation):
    """STR: stores a word to four consecutive bytes, the lowest one first, at any alignment.

    They are those of the elements from the index on: four of 8 bits, or two of 16.

    ```mlir
    dsp.store_word %x, %padded[%i] : i32, memref<64xi8, #npu.sram>
    dsp.store_word %y, %halves[%i] : i32, memref<64xi16, #npu.sram>
    ```
    """

    name = "dsp.store_word"

    value = operand_def(i32)
    memref = operand_def(MemRefType)
    index = operand_def(IndexType)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `,` $memref `[` $index `]` attr-dict `:` type($value) `,` type($memref)"
    )

    def __init__(self, value: SSAValue, memref: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[value, memref, index])

    def verify_(self) -> None:
        """The buffer is a vector of bytes or of 16-bit integers."""
        verify_words(self.memref.type, (8, 16))


@irdl_op_definition
class StoreFloatsOp(IRDLOperation):
    """VSTM: stores some floats to neighbouring elements, from the one at the index on.

    The instruction reads neighbouring registers, from `register` on: 4 is s4. A C compiler moves a
    value there if it lies in another one.

    ```mlir
    dsp.store_floats %a, %b, %c from 4 to %row[%i] : f32, f32, f32 to memref<24xf32>
    ```
    """

    name = "dsp.store_floats"

    values = var_operand_def(Float32Type)
    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    register = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$values `from` $register `to` $memref `[` $index `]` attr-dict "
        "`:` type($values) `to` type($memref)"
    )

    def __init__(
        self, values: Sequence[SSAValue], memref: SSAValue, index: SSAValue, register: int
    ) -> None:
        super().__init__(
            operands=[values, memref, index],
            properties={"register": IntegerAttr(register, i64)},
        )

    @property
    def words(self) -> int:
        """The words that it stores."""
        return len(self.values)

    @property
    def first(self) -> int:
        """The number of the first register."""
        return self.register.value.data

    def verify_(self) -> None:
        """The buffer is a vector of as many floats, for as many registers."""
        verify_floats(self.memref.type, self.words, self.first)


@irdl_op_definition
class CopyWordsOp(IRDLOperation):
    """VLDM, VSTM: loads up to 16 neighbouring words, then stores all of them.

    They are the bytes of the elements from an index on. Both addresses must be multiples of 4:
    those of elements of 32 bits are, and a lowering that copies smaller ones must have proved it.
    As all words are loaded before one is stored, the two places may overlap.

    ```mlir
    dsp.copy_words 16 from %rows[%i] to %rows[%j] : memref<96xf32>, memref<96xf32>
    ```
    """

    name = "dsp.copy_words"

    words = prop_def(IntegerAttr.constr(i64))
    source = operand_def(MemRefType)
    first = operand_def(IndexType)
    target = operand_def(MemRefType)
    start = operand_def(IndexType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$words `from` $source `[` $first `]` `to` $target `[` $start `]` attr-dict "
        "`:` type($source) `,` type($target)"
    )

    def __init__(
        self, words: int, source: SSAValue, first: SSAValue, target: SSAValue, start: SSAValue
    ) -> None:
        super().__init__(
            operands=[source, first, target, start], properties={"words": IntegerAttr(words, i64)}
        )

    @property
    def count(self) -> int:
        """The words that it copies."""
        return self.words.value.data

    @property
    def elements(self) -> int:
        """The elements that it copies."""
        assert is_buffer_type(self.source.type)
        return self.count * WORD_BYTES // element_bytes(self.source.type)

    def verify_(self) -> None:
        """Two vectors without gaps, of one kind of elements, which have as many words."""
        if not 1 <= self.count <= MOST_COPIED:
            raise VerifyException(f"expected 1 to {MOST_COPIED} words, got {self.count}")
        source, target = self.source.type, self.target.type
        assert is_buffer_type(source)
        assert is_buffer_type(target)
        if source.element_type != target.element_type:
            raise VerifyException(f"expected elements of one type, got {source} and {target}")
        if element_bytes(source) > WORD_BYTES:
            raise VerifyException(f"expected elements of at most a word, got {source}")
        for type_ in (source, target):
            verify_vector(type_, self.elements)


@irdl_op_definition
class KeepOrderOp(IRDLOperation):
    """A compiler barrier: a C compiler moves no memory access across it. It emits no instruction.

    A C compiler hoists loads as far as it can to hide their latency. On a core that does not
    overlap loads with computation this gains nothing, and the few registers run out. So a lowering
    keeps each group of loads and the operations that read them between two barriers.

    The op declares no effects, so its effects are unknown to xDSL: passes neither move ops across
    it nor remove it.

    With `sums`, these are computed before, too. A C compiler may put off additions, and hold
    products in registers meanwhile. At most as many as a core has registers for.

    ```mlir
    dsp.keep_order
    dsp.keep_order of %sum0, %sum1
    ```
    """

    name = "dsp.keep_order"

    sums = var_operand_def(i32)

    assembly_format = "(`of` $sums^)? attr-dict"

    def __init__(self, sums: Sequence[SSAValue] = ()) -> None:
        super().__init__(operands=[sums])

    def verify_(self) -> None:
        """There are not too many sums."""
        if len(self.sums) > MOST_KEPT:
            raise VerifyException(f"expected at most {MOST_KEPT} sums, got {len(self.sums)}")


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """The same buffer, of whose place a C compiler knows nothing. It emits no instruction.

    A C compiler that sees how far apart two places of a buffer are may keep a pointer for each of
    them, and has no register left. From an opaque buffer, loads reach them with their own offsets.

    ```mlir
    %taps = dsp.opaque %view : memref<32xi8, strided<[1], offset: ?>>
    ```
    """

    name = "dsp.opaque"

    T: ClassVar = VarConstraint("T", base(MemRefType))

    traits = traits_def(Pure())

    source = operand_def(T)
    result = result_def(T)

    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[source.type])


WordsOp: TypeAlias = (
    LoadWordOp | LoadPairOp | LoadFloatsOp | StoreWordOp | StoreFloatsOp | CopyWordsOp
)
"""The ops that move whole words."""
