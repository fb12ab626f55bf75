"""The cost of skipping zero blocks: instructions of the emitted C on an emulated Cortex-M4.

    python bench/zero_blocks.py

A run only writes a map of 8 channels off the chip in blocks and reads it back. The figures are
instructions per element of the map, for both transfers together, at several shares of zero blocks.
They are exact, and the lower ones of -O2 and -O3. The exit code is 1 if an int8 element in blocks
of 4 x 4 or 8 x 8 takes more than 3 instructions, or a float in blocks of 4 x 4 more than 6 (on maps
of whole blocks), or if the map comes back changed. Maps with `pruned` in the place of their zero
point are pruned before they leave, which the figures include.

`plain` is the map that moves as it is, both ways. `index` is what the map takes more on its way out
than on its way in, with no block zero: the index is computed on the first way, and read on the
second one.

Maps with `planes` as their block move as bit planes, in runs of 16 bytes. The share is then that of
empty runs; the others have 1 to 8 planes, all equally often, or 2 to 8 if they are signed. An
element may take 6 instructions in maps that are whole runs wide, and not signed.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.parser import Parser

from npu_dialect.dma import RUN, index_bytes
from npu_passes.emit.c import emit
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_tools.shared.installed import context
from npu_tools.verifying.emulators import EmulatorError, run_on

MOST = {("i8", 4): 3.0, ("i8", 8): 3.0, ("f32", 4): 6.0}
"""Most instructions per element, by element type and block size; others have no limit."""
UNBOUNDED = (("f32", 35),)
"""Maps that may take more, by element type and size: narrower blocks have no loop of their own."""
MOST_OF_PLANES = 6.0
"""Most instructions per element that moves as bit planes."""
CHANNELS = 8
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEVELS = ("-O2", "-O3")
TYPES = {"i8": ("int8_t", np.int8), "f32": ("float", np.float32)}

TARGET = """#npu.target<"cortex-m4", {
    sram_bytes = 262144 : i64, flash_bytes = 1048576 : i64, registers = 32 : i64,
    features = ["dsp"]}>"""

HEADER = """\
#include "net.h"
#define TRIP_ARENA_BYTES {arena}
#define TRIP_X_OFFSET 0
#define TRIP_X_ELEMENTS {elements}
#define TRIP_Y_OFFSET {place}
#define TRIP_Y_ELEMENTS {elements}
int trip_run(const {kind} *x, {kind} *y, void *arena);
"""

SOURCE = """\
#include "trip.h"
static npu_dma engine;
static unsigned char dram[NET_DRAM_BYTES];
int trip_run(const {kind} *x, {kind} *y, void *arena)
{{
    return net_run(x, y, arena, dram, &engine);
}}
"""


@dataclass(frozen=True)
class Case:
    """A map: its element type, its rows and columns, its block size, and its zero point.

    With a threshold, the map is pruned in place before it leaves; the scale of integers is 1.
    """

    element: str
    size: int
    block: int
    zero: int = 0
    threshold: float | None = None
    planes: bool = False
    is_signed: bool = False

    @property
    def clauses(self) -> str:
        """What `dma.start` says of the blocks."""
        planes = "planes " if self.planes else ""
        return f"{planes}blocks {self.block} zero {self.zero} of %map, %index"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape [N, C, H, W] of the map."""
        return 1, CHANNELS, self.size, self.size

    @property
    def bytes(self) -> int:
        """Bytes of the map."""
        return int(np.prod(self.shape)) * np.dtype(TYPES[self.element][1]).itemsize

    def pruning(self, type_: str) -> str:
        """The layer that prunes the map %x, as text; nothing without a threshold."""
        if self.threshold is None:
            return ""
        scale = f"scale 1.0 zero_point {self.zero}" if self.element == "i8" else ""
        clauses = f"block {self.block} threshold {self.threshold} {scale}"
        return f"npu.prune_zero_blocks ins(%x : {type_}) outs(%x : {type_}) {clauses}"

    @property
    def most(self) -> float | None:
        """The limit of MOST; None if this map has none."""
        if self.planes:
            easy = self.size % RUN == 0 and not self.is_signed
            return MOST_OF_PLANES if easy else None
        bounded = self.threshold is None and (self.element, self.size) not in UNBOUNDED
        return MOST.get((self.element, self.block)) if bounded else None


@dataclass(frozen=True)
class Trip:
    """How often a map is written before it is read back, and whether it moves in blocks."""

    writes: int = 1
    in_blocks: bool = True


TRIP = Trip()
PLAIN = Trip(in_blocks=False)
TWICE = Trip(writes=2)

CASES = (
    Case("i8", 64, 4),
    Case("i8", 32, 4),
    Case("i8", 32, 4, -128),
    Case("i8", 16, 4),
    Case("i8", 8, 4),
    Case("i8", 35, 4),
    Case("i8", 28, 4),
    Case("i8", 14, 4),
    Case("i8", 32, 8),
    Case("i8", 32, 2),
    Case("f32", 32, 4),
    Case("f32", 32, 8),
    Case("f32", 32, 2),
    Case("f32", 35, 4),
    Case("i8", 32, 4, threshold=1.0),
    Case("i8", 32, 8, threshold=1.0),
    Case("i8", 14, 4, threshold=1.0),
    Case("f32", 32, 4, threshold=1.0),
    *(Case("i8", size, RUN, -128, planes=True) for size in (64, 32, 16, 8, 56, 28, 14, 7)),
    Case("i8", 32, RUN, planes=True, is_signed=True),
    Case("i8", 14, RUN, planes=True, is_signed=True),
)


def program(case: Case, trip: Trip) -> str:
    """The IR of a run: %x is written off the chip in blocks, and read back as %y."""
    kind = f"{'x'.join(map(str, case.shape))}x{case.element}"
    on, off = f"memref<{kind}, #npu.sram>", f"memref<{kind}, #npu.dram>"
    index = f"memref<{index_bytes(case.shape, case.block, planes=case.planes)}xi8, #npu.dram>"
    place, blocks = case.bytes, case.clauses if trip.in_blocks else ""
    maps = f"of {off}, {index}" if trip.in_blocks else ""
    writes = "".join(
        f"""
      %s{nth} = dma.start %x to %map channel 3 {blocks} : {on} to {off} {maps}
      dma.wait %s{nth}"""
        for nth in range(trip.writes)
    )
    return f"""
    builtin.module attributes {{npu.target = {TARGET}}} {{
    func.func @net(%x: {on} {{npu.name = "x", sram.input, sram.offset = 0 : i64}},
        %y: {on} {{npu.name = "y", sram.output, sram.offset = {place} : i64}})
        attributes {{sram.arena = {2 * place} : i64, dram.bytes = {2 * place} : i64}} {{
      %map = dram.alloc at 0 : {off}
      %index = dram.alloc at {place} : {index}
      {case.pruning(on)}
      {writes}
      %t = dma.start %map to %y channel 1 {blocks} : {off} to {on} {maps}
      dma.wait %t
      func.return
    }} }}"""


def sparse(case: Case, share: float) -> npt.NDArray[Any]:
    """A random map in which half of the elements are zero, as after a ReLU.

    `share` is the share of blocks that are set to zero. If it is 0, no element is zero.
    """
    random = np.random.default_rng(1)
    if case.planes:
        return planar(case, share, random)
    array = np.maximum(random.integers(-100, 100, case.shape), 0)
    grid = -(-case.size // case.block)
    dropped = random.random((1, CHANNELS, grid, grid)) < share
    wide = dropped.repeat(case.block, axis=2).repeat(case.block, axis=3)
    array[wide[:, :, : case.size, : case.size]] = 0
    if share == 0:
        array[array == 0] = 1
    return np.minimum(array + case.zero, 127).astype(TYPES[case.element][1])


def planar(case: Case, share: float, random: np.random.Generator) -> npt.NDArray[Any]:
    """A random map in which `share` of the runs are empty, and the others have random widths."""
    runs = (1, CHANNELS, case.size, -(-case.size // RUN))
    widths = random.integers(1, 9, runs) * (random.random(runs) >= share)
    wide = 2 ** widths.repeat(RUN, axis=3)[..., : case.size]
    array = random.integers(0, wide)
    array = (
        np.where(random.random(case.shape) < 0.5, array, -(array // 2)) if case.is_signed else array
    )
    return (array + case.zero).astype(np.int8)


def measure(case: Case, folder: Path, trip: Trip = TRIP) -> list[float]:
    """The instructions per element at each of SHARES.

    Raises: EmulatorError if a run fails, or if the map comes back changed.
    """
    module = Parser(context(), program(case, trip)).parse_module()
    LowerToLoopsPass().apply(context(), module)
    files = emit(module)
    assert files.runtime is not None
    elements = int(np.prod(case.shape))
    names = {"kind": TYPES[case.element][0], "elements": elements}
    names |= {"place": case.bytes, "arena": 2 * case.bytes}
    texts = {"net.c": files.source, "net.h": files.header, "npu_dma.h": files.runtime}
    texts |= {"trip.c": SOURCE.format(**names), "trip.h": HEADER.format(**names)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    arrays = [sparse(case, share) for share in SHARES]
    feeds = [{"x": array} for array in arrays]
    sources = [folder / "trip.c", folder / "net.c"]
    found: list[list[int]] = []
    for level in LEVELS:
        runs = run_on("cortex-m4", sources, feeds, flags=[level]).runs
        for array, run in zip(arrays, runs, strict=True):
            if not np.array_equal(run.outputs["y"], array.reshape(-1)):
                raise EmulatorError(f"{case}: another map comes back")
        found.append([run.instructions for run in runs])
    return [count / elements for count in min(found, key=max)]


def figures_of(case: Case) -> list[float]:
    """The figures of a row: at each of SHARES, then `plain`, and `index` where there are blocks.

    Raises: EmulatorError if a run fails, or if the map comes back changed.
    """

    def run(trip: Trip) -> list[float]:
        with tempfile.TemporaryDirectory() as folder:
            return measure(case, Path(folder), trip)

    both = run(TRIP)
    if case.planes or case.threshold is not None:
        return both
    out = run(TWICE)[0] - both[0]
    return [*both, run(PLAIN)[0], out - (both[0] - out)]


def main() -> int:
    """Print the table; returns 1 if a limit is exceeded or a measurement fails."""
    titles = "".join(f"{100 * share:>9.0f} %" for share in SHARES)
    print(f"instructions per element, {CHANNELS} channels out and in, by share of zero blocks")
    print(f"{'elements':<9} {'map':<8} {'block':<6} {'zero':<6}{titles}{'plain':>11}{'index':>11}")
    code = 0
    for case in CASES:
        try:
            figures = figures_of(case)
        except EmulatorError as error:
            print(error)
            return 1
        over = case.most is not None and max(figures[: len(SHARES)]) > case.most
        size, block = f"{case.size}x{case.size}", f"{case.block}x{case.block}"
        block = "planes" if case.planes else block
        text = "".join(f"{figure:>11.2f}" for figure in figures)
        mark = f"  more than {case.most:.0f}" if over else ""
        zero = "pruned" if case.threshold is not None else str(case.zero)
        print(f"{case.element:<9} {size:<8} {block:<6} {zero:<6}{text}{mark}", flush=True)
        code |= over
    return code


if __name__ == "__main__":
    sys.exit(main())
