"""The table of discardable attributes by which passes hand each other information.

    npu.conv2d ... {npu.layer = "conv1", npu.runs = 28 : i64}
    LAYER.get(op) == "conv1";  RUNS.set(op, 28)

Each entry has the attribute's name, the ops on which it may stand, its type, its meaning, its
writers and readers, and what holds if it is absent. No attribute here changes what a program
computes: such facts are properties of ops, or are recomputed where they are used. One lets buffers
overlap, `npu.overlays`; npu-check-overlays proves on the loops what it says. `contract.py` checks a
module against this table and those of `module_attributes.py`, `stream_attributes.py` and
`time_attributes.py`.
"""

from __future__ import annotations

from npu_dialect.keys import Key, Place
from npu_dialect.kinds import (
    ANY,
    DOUBLE,
    INT,
    INTS,
    MACHINE,
    NUMBERS,
    RECORD,
    SINGLE,
    SIZES,
    SYMBOL,
    TEXT,
    UNIT,
)

# -- names, for reports and messages ---------------------------------------------------------
LAYER = Key(
    "npu.layer",
    (Place.PROVENANCE,),
    TEXT,
    "the name of the layer in the model",
    writers=(
        "importers, npu-split-conv-transpose, npu-fuse-normalizations, npu-fold-batch-norm, "
        "npu-fuse-conv-relu-pool, "
        "npu-detect-modules, npu-tile-loops, npu-tile-slow-maps, npu-outline-layers"
    ),
    readers="reports, c",
    absent="the layer has no name",
)
VALUE = Key(
    "npu.value",
    (Place.PROVENANCE,),
    TEXT,
    "the name of the value that the layer computes, in the model",
    writers=(
        "importers, npu-split-conv-transpose, npu-fuse-conv-relu-pool, npu-fuse-regions, "
        "npu-fuse-rows"
    ),
    readers="npu-bufferize, npu-spill-maps, verify, reports, c",
    absent="the value has no name in the model",
)
LEFT = Key(
    "npu.left",
    (Place.ANY,),
    TEXT,
    "why an op of another dialect was left as it is",
    writers="convert-linalg-to-npu, convert-tosa-to-npu",
    readers="npu-compile",
    absent="the op was converted, or no pass has tried",
)
PORT = Key(
    "npu.name",
    (Place.ARGUMENT,),
    TEXT,
    "the name of an input or output in the model",
    writers="importers",
    readers="npu-bufferize, npu-run, reports, c",
    absent="the port is named by its position",
)
STATE = Key(
    "npu.state",
    (Place.ARGUMENT,),
    TEXT,
    (
        "on tensors, an argument and the result of the same text are a state: a run starts with "
        "what the run before it has returned; on buffers, one argument in the arena is both; the "
        "text is the name of the result"
    ),
    writers="npu-keep-state, npu-bufferize",
    readers="npu-bufferize, npu-run, verify, reports, c",
    absent="the port is no state",
    droppable=False,
)
SCALE = Key(
    "npu.scale",
    (Place.ARGUMENT, Place.LAYER, Place.MODULE),
    SINGLE,
    "the scale of a map of integers",
    writers="importers",
    readers="npu-integer-io, npu-prune-zero-blocks, verify",
    absent="the scale is unknown",
)
ZERO_POINT = Key(
    "npu.zero_point",
    (Place.ARGUMENT, Place.LAYER, Place.MODULE),
    INT,
    "the integer that stands for the real number 0 in a map",
    writers="importers",
    readers="npu-integer-io, npu-prune-zero-blocks, npu-compress-spills",
    absent="the zero point is 0",
)
SELDOM = Key(
    "npu.seldom",
    (Place.CHOICE,),
    UNIT,
    "the condition hardly ever holds, whatever the data are",
    writers="npu-lower-to-loops",
    readers="npu-estimate-instructions, npu-overlay-maps",
    absent="each side of a branch that depends on data counts",
)
WHAT = Key(
    "npu.what",
    (Place.FUNCTION,),
    TEXT,
    "the layer of an outlined function as text, without operands and types",
    writers="npu-outline-layers, npu-outline-rows, npu-share-functions",
    readers="c",
    absent="the comment in the C has no such line",
)
# -- the module --------------------------------------------------------------------------------
TARGET = Key(
    "npu.target",
    (Place.PROGRAM_MODULE,),
    MACHINE,
    "the machine that the module is compiled for",
    writers="npu-attach-target, npu-compile",
    readers="all",
    absent="no machine: nothing is checked against its sizes",
    droppable=False,
)
FLASH = Key(
    "npu.flash",
    (Place.PROGRAM_MODULE, Place.LAYER),
    TEXT,
    "whether kernels are chosen to be fast or to be small in flash",
    writers="npu-use-flash on the module, npu-choose-flash on layers",
    readers="npu-choose-flash, npu-choose-kernels, npu-overlay-maps, npu-lower-to-loops",
    absent="a layer: as the module; the module: fast",
)
BY_CHANNEL = Key(
    "npu.by_channel",
    (Place.LAYER,),
    UNIT,
    (
        "a depthwise layer may compute one channel after the other, as its output shares no memory "
        "with its input, or no other channels with npu.over_input"
    ),
    writers="npu-choose-kernels",
    readers="npu-overlay-maps, npu-share-functions, npu-lower-to-loops",
    absent="its rows come first, so that its output can follow its dying input",
)
OVER_INPUT = Key(
    "npu.over_input",
    (Place.LAYER,),
    UNIT,
    (
        "a depthwise layer that computes by channel computes single rows of outputs, so that they "
        "may lie on the same channels of pixels of its dying input"
    ),
    writers="npu-choose-kernels",
    readers="npu-overlay-maps, npu-share-functions, npu-lower-to-loops",
    absent="it may compute two rows together",
)
FLASH_BYTES = Key(
    "npu.flash_bytes",
    (Place.PROGRAM_MODULE,),
    INT,
    "the most bytes of flash that constants may take",
    writers="npu-use-flash",
    readers="npu-choose-flash, npu-compile",
    absent="the flash of the machine",
)
PLANNED_AS = Key(
    "npu.planned_as",
    (Place.PROGRAM_MODULE,),
    ANY,
    "the element type that replaced f32, for sizes only; the values of constants are dropped",
    writers="npu-plan-as",
    readers="reports",
    absent="the values are those of the model",
    droppable=False,
)
# -- rows ----------------------------------------------------------------------------------------
RING = Key(
    "npu.ring",
    (Place.LAYER, Place.ROWS),
    INT,
    (
        "for a layer in npu.rows: how many rows of its OFM are on chip at one time; for npu.rows: "
        "how many of its input are, whose rows arrive one at a time"
    ),
    writers="npu-fuse-regions, npu-fuse-rows",
    readers="npu.rows",
    absent="the layer is the last one in its npu.rows; the input is on chip as a whole",
)
ROW_TIME = Key(
    "npu.row_time",
    (Place.LAYER, Place.ROWS),
    INTS,
    (
        "for a layer in npu.rows: its period and its delay; it computes row s of its OFM in step "
        "s * period + delay of the loop. For npu.rows: the same for the rows of its input, which "
        "arrive one at a time"
    ),
    writers="npu-fuse-regions",
    readers="npu.rows, npu-bufferize",
    absent=(
        "the npu.rows is a chain; a layer runs when the one behind it needs a row; the input is "
        "there as a whole"
    ),
    droppable=False,
)
TOP_ROWS = Key(
    "npu.top_rows",
    (Place.ROWS,),
    UNIT,
    (
        "rows that need rows of padding above a map in the region are layers of their own; so the "
        "rings have no rows of padding at the start"
    ),
    writers="npu-fuse-regions",
    readers="npu.rows, npu-bufferize",
    absent="rings start with the rows of padding above their maps",
)
RUNS = Key(
    "npu.runs",
    (Place.LAYER,),
    INT,
    "how often a layer on buffers runs in one inference",
    writers="npu-bufferize, npu-tile-loops, npu-tile-slow-maps, npu-double-buffer",
    readers="npu-spill-maps, npu-compress-spills, reports",
    absent="once",
)
CONSUMES = Key(
    "npu.consumes",
    (Place.ROWS, Place.LOOP),
    UNIT,
    (
        "a hint: the output may be able to overwrite the input row by row; passes check the "
        "loop before they use the hint"
    ),
    writers="npu-fuse-tails, npu-bufferize",
    readers="npu-move-maps, npu-assign-sram-offsets",
    absent="no hint",
)
OVERLAYS = Key(
    "npu.overlays",
    (Place.ANY,),
    INTS,
    (
        "four numbers for each operand that the op may overwrite while it reads it: the number of "
        "that operand and of the one that is written; the least bytes by which the first must lie "
        "behind the second; and the least bytes by which the second must lie behind the first if "
        "the op runs backwards, or -1 if it cannot, or -2 if the first must lie exactly as far "
        "behind the second. For a loop, the numbers are those of the "
        "buffers on chip that it uses from outside, in the order of their first uses"
    ),
    writers="npu-overlay-maps, npu-tile-slow-maps, npu-outline-layers",
    readers="npu-assign-sram-offsets, npu-turn-layers, npu-check-overlays, npu-run",
    absent="the output overlaps no operand",
)
BACKWARDS = Key(
    "npu.backwards",
    (Place.LAYER,),
    UNIT,
    "the outermost loops of the layer run from the last iteration to the first",
    writers="npu-turn-layers",
    readers="npu-share-functions, npu-lower-to-loops",
    absent="they run forwards",
)
ROW_BUFFER = Key(
    "npu.row_buffer",
    (Place.ROWS,),
    UNIT,
    "its result leaves the chip: each row is computed in a buffer of its own and copied from there",
    writers="npu-fuse-regions",
    readers="npu-bufferize",
    absent="each row is computed where it lies in the result",
)
OVERLAP_ROWS = Key(
    "npu.overlap_rows",
    (Place.ROWS, Place.LOOP),
    UNIT,
    (
        "a request to move rows of maps off chip while other rows are computed. The steps in which "
        "no row is padding get a loop of their own"
    ),
    writers="npu-fuse-regions, npu-bufferize",
    readers="npu-bufferize, npu-overlap-rows",
    absent="rows are moved where they are used",
)
# -- tiles and transfers -------------------------------------------------------------------------
TILE = Key(
    "npu.tile",
    (Place.ANY,),
    RECORD,
    "tile sizes, loop order and cost of a layer that runs in tiles",
    writers="npu-tile-loops, npu-tile-slow-maps",
    readers="reports",
    absent="the layer does not run in tiles",
)
NOT_TILED = Key(
    "npu.not_tiled",
    (Place.ANY,),
    TEXT,
    "why an op that uses a buffer off the chip does not run in tiles",
    writers="npu-tile-loops",
    readers="people",
    absent="it runs in tiles, or uses no such buffer",
)
DOUBLE_BUFFER = Key(
    "npu.double_buffer",
    (Place.LOOP,),
    UNIT,
    "a request to overlap the transfers of the loop with its computation",
    writers="npu-tile-loops",
    readers="npu-double-buffer",
    absent="no request",
)
LATE_SUMS = Key(
    "npu.late_sums",
    (Place.LOOP,),
    UNIT,
    (
        "with npu.double_buffer: there is memory for three parts of a buffer that a step loads and "
        "stores, so that it is stored while the next step computes"
    ),
    writers="npu-tile-loops",
    readers="npu-double-buffer",
    absent="such a buffer has two parts, and its step waits for the store",
)
TWO_AHEAD = Key(
    "npu.two_ahead",
    (Place.LOOP,),
    UNIT,
    (
        "with npu.double_buffer: there is memory for one part more of each buffer that a step "
        "loads, so that loads start two steps before the step that needs them"
    ),
    writers="npu-tile-loops",
    readers="npu-double-buffer",
    absent="loads start one step before",
)
DOUBLE_BUFFERED = Key(
    "npu.double_buffered",
    (Place.LOOP,),
    UNIT,
    "the transfers of the loop overlap with its computation",
    writers="npu-double-buffer, npu-overlap-rows",
    readers="npu-unroll-loops, people",
    absent="they do not overlap",
)
NOT_DOUBLE_BUFFERED = Key(
    "npu.not_double_buffered",
    (Place.LOOP,),
    TEXT,
    "why the transfers of the loop do not overlap with its computation",
    writers="npu-double-buffer, npu-overlap-rows",
    readers="people",
    absent="they overlap, or no overlap was requested",
)
PROGRAM = Key(
    "pl330.program",
    (Place.TRANSFER,),
    SYMBOL,
    "the PL-330 program that does the transfer",
    writers="npu-lower-dma-to-pl330",
    readers="pl330-c, reports",
    absent="the core copies the data",
)
CODE_BYTES = Key(
    "pl330.bytes",
    (Place.MICROCODE,),
    INT,
    "bytes of the code of a program",
    writers="npu-lower-dma-to-pl330",
    readers="people",
    absent="the bytes have not been counted",
)
# -- zero blocks ---------------------------------------------------------------------------------
NOT_COMPRESSED = Key(
    "npu.not_compressed",
    (Place.ALLOCATION,),
    TEXT,
    "why an off-chip map is moved as it is, with its zero blocks",
    writers="npu-compress-spills",
    readers="reports",
    absent="it is compressed, or npu-compress-spills has not run",
)
ZERO_BLOCKS = Key(
    "npu.zero_blocks",
    (Place.LAYER,),
    DOUBLE,
    "the expected share of the map's elements that lie in zero blocks",
    writers="npu-measure-zero-blocks",
    readers="npu-compress-spills",
    absent="the share is unknown, and the map is compressed",
)
BIT_PLANES = Key(
    "npu.bit_planes",
    (Place.LAYER,),
    DOUBLE,
    "the expected bytes of a map of bytes as bit planes, without the index, for each of its bytes",
    writers="npu-measure-zero-blocks",
    readers="npu-compress-spills",
    absent="the map does not move as bit planes, unless an option says so",
)
# -- memories ------------------------------------------------------------------------------------
ARENA = Key(
    "sram.arena",
    (Place.FUNCTION,),
    INT,
    "bytes of the arena, if there is one memory",
    writers="npu-assign-sram-offsets",
    readers="reports, c, npu-run",
    absent="the buffers of the function have no offsets",
    droppable=False,
)
ARENAS = Key(
    "sram.arenas",
    (Place.FUNCTION,),
    SIZES,
    "bytes of the arena in each of several memories, by their names",
    writers="npu-assign-sram-offsets",
    readers="reports, c, npu-run",
    absent="the buffers of the function have no offsets, or lie in one memory",
    droppable=False,
)
ZEROS = Key(
    "npu.zeros",
    (Place.PROVENANCE,),
    NUMBERS,
    (
        "on a call that runs a layer, the expected share of zeros in each argument, in their "
        "order; 0 for those that are not read, and for those that are no floats"
    ),
    writers="npu-measure-zeros",
    readers="npu-estimate-instructions",
    absent="half the elements of a map behind ReLU are zero",
)
INSTRUCTIONS = Key(
    "npu.instructions",
    (Place.PROVENANCE, Place.FUNCTION),
    INT,
    "predicted instructions of all runs of a layer in one inference, or of the whole inference",
    writers="npu-estimate-instructions",
    readers="none of ours",
    absent="nothing was predicted",
)
SRAM_OFFSET = Key(
    "sram.offset",
    (Place.ARGUMENT, Place.ALLOCATION),
    INT,
    "the byte offset of an argument, or of an allocation of another dialect, in the arena",
    writers="npu-assign-sram-offsets",
    readers="c, npu-run",
    absent="the buffer has no offset",
    droppable=False,
)
SRAM_INPUT = Key(
    "sram.input",
    (Place.ARGUMENT,),
    UNIT,
    "the argument lies in the arena, and the caller puts data there before the call",
    writers="npu-bufferize",
    readers="npu-assign-sram-offsets, c, npu-run",
    absent="the argument is no input in the arena",
    droppable=False,
)
SRAM_OUTPUT = Key(
    "sram.output",
    (Place.ARGUMENT,),
    UNIT,
    "the argument lies in the arena, and the caller takes data from there after the call",
    writers="npu-bufferize",
    readers="npu-assign-sram-offsets, c, npu-run",
    absent="the argument is no output in the arena",
    droppable=False,
)
DRAM_BYTES = Key(
    "dram.bytes",
    (Place.FUNCTION,),
    INT,
    "bytes of off-chip memory for maps",
    writers="npu-assign-dram-offsets",
    readers="c, npu-run",
    absent="the off-chip buffers have no offsets",
    droppable=False,
)
DRAM_INPUT = Key(
    "dram.input",
    (Place.ARGUMENT,),
    UNIT,
    "the argument lies off chip, and the caller puts data there before the call",
    writers="npu-bufferize",
    readers="c, npu-run",
    absent="the argument is no off-chip input",
    droppable=False,
)
DRAM_OUTPUT = Key(
    "dram.output",
    (Place.ARGUMENT,),
    UNIT,
    "the argument lies off chip, and the caller takes data from there after the call",
    writers="npu-bufferize",
    readers="c, npu-run",
    absent="the argument is no off-chip output",
    droppable=False,
)
SPILLED = Key(
    "npu.spilled_bytes",
    (Place.FUNCTION,),
    INT,
    "bytes that one inference moves for maps that did not fit on chip",
    writers="npu-spill-maps",
    readers="reports",
    absent="no map was spilled",
)
MOVES = Key(
    "npu.moves",
    (Place.PROVENANCE,),
    UNIT,
    (
        "on a copy: its source and its target could be one buffer; they are two so that the first "
        "can be on chip while the second is off the chip"
    ),
    writers="npu-split-lives",
    readers="npu-slide-maps, npu-spill-maps",
    absent="the copy stays",
)
