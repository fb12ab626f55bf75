"""The table of discardable attributes of a program whose input arrives in rows.

    func.func @f(%x: memref<1x3x32x32xi8, strided<[3072, 32, 96, 1]>> {npu.stream}, ...) {
      %count = sram.alloc {npu.stream_count} : memref<1xi32, #npu.sram>
      scf.for %t = ... { ... } {npu.stream_steps = array<i64: 32, 0>}

`npu-split-stream` makes three functions of it, each with `npu.stream_part`.
"""

from __future__ import annotations

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import INTS, TEXT, UNIT

STREAM_PARTS = ("begin", "push_rows", "finish")
"""The functions of a program whose input arrives in rows, in the order of calls."""

STREAM = Key(
    "npu.stream",
    (Place.ARGUMENT,),
    UNIT,
    (
        "the caller has the input, or gives rows of it, and nothing of it lies in the arena but "
        "the rows in a ring; each row is read once, in the order of the rows"
    ),
    writers="npu-stream-input, npu-bufferize, npu-split-stream",
    readers="npu-fuse-regions, npu-bufferize, npu-split-stream, npu-run, reports, c",
    absent="the input is given as a whole",
    droppable=False,
)
STREAM_STEPS = Key(
    "npu.stream_steps",
    (Place.LOOP,),
    INTS,
    (
        "row s of the streamed input is read in step s + delay of the loop: the number of rows, "
        "and that delay"
    ),
    writers="npu-bufferize",
    readers="npu-split-stream",
    absent="the loop reads no streamed input",
    droppable=False,
)
STREAM_COUNT = Key(
    "npu.stream_count",
    (Place.ALLOCATION,),
    UNIT,
    "the buffer counts the rows of the streamed input that were pushed",
    writers="npu-bufferize",
    readers="npu-split-stream",
    absent="the buffer counts no rows",
    droppable=False,
)
STREAM_PART = Key(
    "npu.stream_part",
    (Place.FUNCTION,),
    TEXT,
    "which part of a program with a streamed input the function is: begin, push_rows or finish",
    writers="npu-split-stream",
    readers="c",
    absent="the function is the whole program",
    droppable=False,
)
