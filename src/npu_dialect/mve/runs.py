"""Products of windows in a map with a table whose weights lie in the order of their loads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.mve.rows import MOST_PIXELS, MOST_ROWS, ROW_WORDS
from npu_dialect.mve.types import I32X4, VECTOR_BYTES, verify_line
from npu_dialect.npu.quantization import BYTE_TYPES

MOST_RUN_VECTORS = 16
"""The most vectors of a run, as all of its products are straight code."""
WORD = 4
"""Bytes of a word."""
FARTHEST_RUN = 4096
"""Pointers move by less than these bytes in one instruction."""
MOST_SKIPPED = 123
"""The most words from a run of the table to the next one: a load moves its pointer behind them."""


@dataclass(frozen=True)
class Run:
    """The numbers of an op: see `MulRunsOp`."""

    bytes: int
    apart: int
    pitch: int
    step: int
    filters: int
    lead: int = 0
    taps: int = 1
    across: int = 0
    tail: int = ROW_WORDS

    @property
    def read(self) -> int:
        """The bytes of the map from the first to the last one that a row reads."""
        return (self.taps - 1) * self.across + self.bytes - self.lead

    @property
    def vectors(self) -> int:
        """The vectors of a run; the last one may be a part of one."""
        return -(-self.bytes // VECTOR_BYTES)

    @property
    def row_vectors(self) -> int:
        """The vectors of all runs of a row."""
        return self.taps * self.vectors

    @property
    def rest(self) -> int:
        """The bytes of the last vector if they are fewer than a whole one's, else 0."""
        return self.bytes % VECTOR_BYTES

    @property
    def row_words(self) -> int:
        """The words of the table for one row."""
        return self.taps * self.filters * ((self.vectors - 1) * ROW_WORDS + self.tail)

    @property
    def words(self) -> int:
        """The words that are read for one row: the last load reads 16 bytes, too."""
        return self.row_words + ROW_WORDS - self.tail


@irdl_op_definition
class MulRunsOp(IRDLOperation):
    """VMLADAVA: sums of the products of the runs of a window with those of up to four filters.

    A window has a run of bytes for each of some rows of a map, which are `pitch` bytes apart. The
    table has words, the lowest byte first, and `step` words for each row: 16 bytes of each filter,
    for each 16 bytes of a run. What is behind a run in the map is not read, and weights there count
    as nothing; with two results they must be zero. Where the last vector of a run is a part of one,
    its weights may lie closer: `tail` words for each filter. Then all weights behind a run count as
    nothing, and the windows do not share loads.

    A row may have several runs, one for each of its `taps`, which are `across` bytes apart. Their
    weights follow each other in the table.

    Of a window that padding cuts, the first `lead` bytes of each run are not read either, and count
    as nothing; the index is then that of the first byte that is. Such a run has whole vectors, and
    there is one of a row, and one result.

    Bytes of ui8 are multiplied as if their topmost bit were flipped, so each is 128 less. A sum
    begins with a word for its filter, or with zero. Lanes without a filter repeat the last one.
    With two results, the second window begins `apart` bytes behind the first one, and both share
    the loads of weights. There is at least one row.

    ```mlir
    %a, %b = mve.mul_runs %map[%at] by %taps[%i] from %starts[%j] rows %n run 48 apart 16 pitch 512
      step 48 filters 4 : memref<16384xi8>, memref<576xi32>, memref<16xi32>
      -> vector<4xi32>, vector<4xi32>
    ```
    """

    name = "mve.mul_runs"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType)
    table = operand_def(MemRefType)
    first = operand_def(IndexType)
    starts = opt_operand_def(MemRefType)
    start = opt_operand_def(IndexType)
    rows = operand_def(IndexType)
    run = prop_def(IntegerAttr.constr(i64))
    apart = prop_def(IntegerAttr.constr(i64))
    pitch = prop_def(IntegerAttr.constr(i64))
    step = prop_def(IntegerAttr.constr(i64))
    filters = prop_def(IntegerAttr.constr(i64))
    lead = opt_prop_def(IntegerAttr.constr(i64))
    taps = opt_prop_def(IntegerAttr.constr(i64))
    across = opt_prop_def(IntegerAttr.constr(i64))
    tail = opt_prop_def(IntegerAttr.constr(i64))
    sums = var_result_def(I32X4)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$memref `[` $index `]` `by` $table `[` $first `]` (`from` $starts^ `[` $start `]`)? "
        "`rows` $rows `run` $run `apart` $apart `pitch` $pitch `step` $step `filters` $filters "
        "(`lead` $lead^)? (`taps` $taps^ `across` $across)? (`tail` $tail^)? "
        "attr-dict `:` type($memref) `,` type($table) (`,` type($starts)^)? `->` type($sums)"
    )

    def __init__(
        self,
        map: tuple[SSAValue, SSAValue],
        table: tuple[SSAValue, SSAValue],
        starts: tuple[SSAValue, SSAValue] | None,
        rows: SSAValue,
        run: Run,
        pixels: int,
    ) -> None:
        numbers = {
            "run": run.bytes,
            "apart": run.apart,
            "pitch": run.pitch,
            "step": run.step,
            "filters": run.filters,
            **({"lead": run.lead} if run.lead else {}),
            **({"taps": run.taps, "across": run.across} if run.taps > 1 else {}),
            **({"tail": run.tail} if run.tail < ROW_WORDS else {}),
        }
        buffer, place = starts or (None, None)
        super().__init__(
            operands=[*map, *table, buffer, place, rows],
            result_types=[[I32X4] * pixels],
            properties={name: IntegerAttr(number, i64) for name, number in numbers.items()},
        )

    @property
    def numbers(self) -> Run:
        """The numbers of the op."""
        every = (self.run, self.apart, self.pitch, self.step, self.filters)
        lead = 0 if self.lead is None else self.lead.value.data
        run, apart, pitch, step, filters = (each.value.data for each in every)
        taps, across = (
            (1, 0)
            if self.taps is None or self.across is None
            else (
                self.taps.value.data,
                self.across.value.data,
            )
        )
        tail = ROW_WORDS if self.tail is None else self.tail.value.data
        return Run(run, apart, pitch, step, filters, lead, taps, across, tail)

    @property
    def bytes(self) -> int:
        """The bytes of the map from the first to the last one that a row of all windows reads."""
        own = self.numbers
        return own.read + (own.apart if len(self.sums) > 1 else 0)

    def verify_(self) -> None:
        """One or two results, numbers in their limits, a map of bytes, and tables of words."""
        if not 1 <= len(self.sums) <= MOST_PIXELS:
            raise VerifyException(f"expected one or two results, got {len(self.sums)}")
        self.verify_numbers()
        verify_line(self.memref.type, BYTE_TYPES, self.bytes)
        own = self.numbers
        verify_line(self.table.type, (i32,), own.words)
        if (self.starts is None) != (self.start is None):
            raise VerifyException("expected a place for the first values")
        if self.starts is not None:
            verify_line(self.starts.type, (i32,), own.filters)

    def verify_numbers(self) -> None:
        """Check the numbers.

        Raises: VerifyException if one is out of its limits.
        """
        if (self.taps is None) != (self.across is None):
            raise VerifyException("expected both taps and across, or neither")
        own = self.numbers
        most = max(1, MOST_RUN_VECTORS // max(1, own.taps)) * VECTOR_BYTES
        limits = {
            "taps": (own.taps, 1, MOST_RUN_VECTORS),
            "across": (own.across, 0, FARTHEST_RUN - 1),
            "run": (own.bytes, 1, most),
            "filters": (own.filters, 1, MOST_ROWS),
            "apart": (own.apart, 0, FARTHEST_RUN - 1),
            "pitch": (own.pitch, own.read, FARTHEST_RUN - 1),
            "step": (own.step, own.row_words, own.row_words + MOST_SKIPPED),
            "tail": (own.tail, -(-own.rest // WORD) or ROW_WORDS, ROW_WORDS),
        }
        for name, (number, least, largest) in limits.items():
            if not least <= number <= largest:
                raise VerifyException(f"expected {name} {least} to {largest}, got {number}")
        if own.tail < ROW_WORDS and own.lead:
            raise VerifyException("expected no lead of a run with a tail")
        single = len(self.sums) == 1 and own.taps == 1 and not own.rest
        if own.lead and not (single and 0 < own.lead < VECTOR_BYTES):
            what = f"one result, one tap and whole vectors behind a lead of 1 to {VECTOR_BYTES - 1}"
            raise VerifyException(f"expected {what}, got {own.lead}")
