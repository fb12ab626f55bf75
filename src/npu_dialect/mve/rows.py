"""Products of vectors with rows of a table, whose sums are the lanes of a vector of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.types import F32X4, I8X16, I32X4, VECTOR_BYTES, Vector, verify_line

PACK_AXES = 2
"""A pack has an axis of vectors, and one of their bytes."""
MOST_ROWS = 4
"""The words of a vector."""
ROW_WORDS = 4
"""The words of a row that a vector of bytes takes."""
MOST_PIXELS = 2
"""The most vectors of sums: more would need more than the even registers."""
MOST_VECTORS = 16
"""The most vectors of a row, as all of its products are straight code."""
ROWS_REACH = 128
"""A load of words begins at most 127 of them behind its pointer."""


def pack_type(count: int) -> Vector:
    """The type of some vectors of bytes in memory."""
    return VectorType(i8, [count, VECTOR_BYTES])


def is_pack(type_: Attribute) -> bool:
    """Whether a type is that of some vectors of bytes in memory."""
    shape = type_.get_shape() if isinstance(type_, VectorType) else ()
    return len(shape) == PACK_AXES and type_ == pack_type(shape[0])


@irdl_op_definition
class PackOp(IRDLOperation):
    """Keeps vectors of bytes side by side on the stack, from where `mul_rows` loads them.

    ```mlir
    %p = mve.pack %a, %b, %c : vector<3x16xi8>
    ```
    """

    name = "mve.pack"

    x = var_operand_def(I8X16)
    result = result_def(VectorType)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($result)"

    def __init__(self, x: Sequence[SSAValue]) -> None:
        super().__init__(operands=[x], result_types=[pack_type(len(x))])

    def verify_(self) -> None:
        """The result has a row for each operand."""
        if self.result.type != pack_type(len(self.x)):
            raise VerifyException(f"expected {pack_type(len(self.x))}, got {self.result.type}")


@irdl_op_definition
class MulRowsOp(IRDLOperation):
    """VMLADAV and VMLADAVA: sums of the products of vectors of bytes with rows of a table.

    A row has as many bytes as the vectors of one sum. They lie in words, the lowest byte first:
    the first 16 bytes of all rows, then the next ones of all rows, and so on, in the order of their
    use. The last 16 bytes of rows may lie closer: `tail` words apart. The first row gives lane 0,
    and lanes without a row repeat the last one. With `biased`, there are four rows, and four words
    in front of them are the first values. With two results, the first half of the vectors is for
    the first one, and both read the same rows, which are loaded once.

    ```mlir
    %a, %b = mve.mul_rows %v, %w by %taps[%i] rows 4 : memref<64xi32>, vector<16xi8>,
      vector<16xi8> -> vector<4xi32>, vector<4xi32>
    ```
    """

    name = "mve.mul_rows"

    x = var_operand_def(VectorType)
    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    rows = prop_def(IntegerAttr.constr(i64))
    tail = opt_prop_def(IntegerAttr.constr(i64))
    biased = opt_prop_def(UnitAttr)
    sums = var_result_def(I32X4)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$x `by` $memref `[` $index `]` `rows` $rows (`tail` $tail^)? (`biased` $biased^)? "
        "attr-dict `:` type($memref) `,` type($x) `->` type($sums)"
    )

    def __init__(
        self,
        x: Sequence[SSAValue],
        memref: SSAValue,
        index: SSAValue,
        rows: int,
        pixels: int,
        *,
        tail: int = ROW_WORDS,
        biased: bool = False,
    ) -> None:
        super().__init__(
            operands=[x, memref, index],
            result_types=[[I32X4] * pixels],
            properties={
                "rows": IntegerAttr(rows, i64),
                "tail": None if tail == ROW_WORDS else IntegerAttr(tail, i64),
                "biased": UnitAttr() if biased else None,
            },
        )

    @property
    def packed(self) -> bool:
        """Whether the vectors lie in memory."""
        return [each.type for each in self.x] != [I8X16] * len(self.x)

    @property
    def total(self) -> int:
        """The vectors of all sums."""
        if not self.packed:
            return len(self.x)
        type_: Attribute = self.x[0].type
        return cast(Vector, type_).get_shape()[0]

    @property
    def vectors(self) -> int:
        """The vectors of one sum."""
        return self.total // len(self.sums)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.rows.value.data

    @property
    def head(self) -> int:
        """The words in front of the rows."""
        return 0 if self.biased is None else MOST_ROWS

    @property
    def apart(self) -> int:
        """The words from the last 16 bytes of a row to those of the next one."""
        return ROW_WORDS if self.tail is None else self.tail.value.data

    @property
    def words(self) -> int:
        """The words that are read: of all rows, and of the first values in front of them."""
        last = (self.count - 1) * self.apart + ROW_WORDS
        return self.head + self.count * (self.vectors - 1) * ROW_WORDS + last

    def verify_(self) -> None:
        """Vectors of one or two sums, and a table of words that holds all rows."""
        if not 1 <= len(self.sums) <= MOST_PIXELS:
            raise VerifyException(f"expected one or two results, got {len(self.sums)}")
        self.verify_vectors()
        if not 1 <= self.count <= MOST_ROWS:
            raise VerifyException(f"expected 1 to {MOST_ROWS} rows, got {self.count}")
        if not 1 <= self.apart <= ROW_WORDS:
            raise VerifyException(f"expected a tail of 1 to {ROW_WORDS} words, got {self.apart}")
        if self.biased and self.count < MOST_ROWS:
            what = f"{MOST_ROWS} rows behind first values"
            raise VerifyException(f"expected {what}, got {self.count}")
        verify_line(self.memref.type, (i32,), self.words)

    def verify_vectors(self) -> None:
        """As many vectors for each sum, of which there are not too many.

        Raises: VerifyException if there are not.
        """
        if self.packed and (len(self.x) != 1 or not is_pack(self.x[0].type)):
            raise VerifyException("expected vector<16xi8>, or one pack of them")
        if not self.total or self.total % len(self.sums):
            raise VerifyException("expected as many vectors for each result")
        if self.vectors > MOST_VECTORS:
            what = f"rows of at most {MOST_VECTORS} vectors"
            raise VerifyException(f"expected {what}, got {self.vectors}")


@irdl_op_definition
class AsFloatsOp(IRDLOperation):
    """No instruction: the bits of words as those of floats.

    ```mlir
    %f = mve.as_floats %x : vector<4xi32> -> vector<4xf32>
    ```
    """

    name = "mve.as_floats"

    x = operand_def(I32X4)
    result = result_def(F32X4)

    traits = traits_def(Pure())

    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[F32X4])
