"""Faults in the programs of `programs.py`: a text, what takes its place, and what must be found."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.shadow.programs import BLOCKS, LAYERS, ROWS, TILES


@dataclass(frozen=True)
class Planted:
    """A program with a fault; `found` is a part of the message."""

    program: str
    changes: tuple[tuple[str, str], ...]
    found: str

    def text(self) -> str:
        """The program with its fault."""
        text = self.program
        for old, new in self.changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        return text


def layers(found: str, *changes: tuple[str, str]) -> Planted:
    """A fault in the layers."""
    return Planted(LAYERS, changes, found)


def tiles(found: str, *changes: tuple[str, str]) -> Planted:
    """A fault in the tiles."""
    return Planted(TILES, changes, found)


def blocks(found: str, *changes: tuple[str, str]) -> Planted:
    """A fault in the map of blocks."""
    return Planted(BLOCKS, changes, found)


def rows(found: str, *changes: tuple[str, str]) -> Planted:
    """A fault in the rows."""
    return Planted(ROWS, changes, found)


SUMS = "  func.call @sums(%a, %b) : (!map, !map) -> ()\n"
LAYER = "    func.call @layer(%in, %out) : (!half, !tile) -> ()\n"
FIRST = "  %first = dma.start %row0 to %half0 channel 0 : !part to !half\n"
NINE = "%c9 = arith.constant 9 : index"
SIX = "%c6 = arith.constant 6 : index"
LONG = "memref<1x17xi8, strided<[16, 1], offset: ?>"

OLD = """  %stored = dma.start %tile to %old channel 0 : !tile to !map
  dma.wait %stored
"""
SECOND = "  %second = dma.start %half1"
BACK = "  %back = dma.start"

PLANTED = {
    "index-overwritten-between-stores": blocks(
        "%index at byte 0: overwritten by %old", (OLD, ""), (SECOND, OLD + SECOND)
    ),
    "index-overwritten-before-a-load": blocks(
        "%index at byte 0: overwritten by %old", (OLD, ""), (BACK, OLD + BACK)
    ),
    "offset-one-byte-down": layers(
        "%x at byte 63: overwritten by %a",
        ("%a = sram.alloc at 64", "%a = sram.alloc at 63"),
    ),
    "offset-into-the-buffer-before": layers(
        "%a at byte 63: overwritten by %b",
        ("%b = sram.alloc at 128", "%b = sram.alloc at 127"),
    ),
    "buffers-swapped": layers(
        "%a at byte 24: overwritten by %c",
        ("sram.output, sram.offset = 64", "sram.output, sram.offset = 0"),
        ("%c = sram.alloc at 0", "%c = sram.alloc at 64"),
    ),
    "arena-one-byte-short": layers(
        "bytes 128 to 191 of the arena of 191 bytes", ("sram.arena = 192", "sram.arena = 191")
    ),
    "offset-not-aligned": layers(
        "offset 66, expected a multiple of 4",
        ("sram.output, sram.offset = 64", "sram.output, sram.offset = 66"),
    ),
    "loop-bound-one-more": layers(
        "%x: an access at index 8, outside of its axis (0 to 7)",
        ("%zero = arith.constant 0 : i8", f"%zero = arith.constant 0 : i8\n  {NINE}"),
        ("%j = %c0 to %c8 step %c1 {\n      %sum", "%j = %c0 to %c9 step %c1 {\n      %sum"),
    ),
    "loop-bound-one-less": layers(
        "%c at byte 0: never written",
        ("%i = %c0 to %c8 step %c1 {\n    %other", "%i = %c1 to %c8 step %c1 {\n    %other"),
        ("%c = sram.alloc at 0", "%c = sram.alloc at 192"),
        ("sram.arena = 192", "sram.arena = 256"),
    ),
    "store-index-off-by-one": layers(
        "an access at index 8, outside of its axis",
        ("memref.store %sum, %y[%i, %j]", "memref.store %sum, %y[%last, %j]"),
    ),
    "load-index-off-by-one": layers(
        "%x: an access at index -1, outside of its axis",
        ("%other = arith.subi %c7, %i", f"{SIX}\n    %other = arith.subi %c6, %i"),
    ),
    "word-past-the-end": layers(
        "an access at index 64, outside of its axis (0 to 60)",
        ("%end = arith.constant 64", "%end = arith.constant 68"),
    ),
    "view-one-too-far": layers(
        "%x: a view that begins at index 7, outside of its axis (0 to 6)",
        ("%top = arith.muli %i, %c2", "%even = arith.muli %i, %c2"),
        ("%left =", "%top = arith.addi %even, %c1 : index\n      %left ="),
    ),
    "arguments-swapped": layers("%b at byte 0: never written", ("@sums(%a, %b)", "@sums(%b, %a)")),
    "layer-missing": layers("%b at byte 0: never written", (SUMS, "")),
    "layers-in-wrong-order": layers(
        "%a at byte 0: never written",
        (SUMS, ""),
        ("  func.call @words", f"{SUMS}  func.call @words"),
    ),
    "in-place-but-read-later": layers(
        "overwritten by %b", ("%b = sram.alloc at 128", "%b = sram.alloc at 64")
    ),
    "output-over-its-input-too-soon": layers(
        "%c at byte 4: overwritten by %y",
        ("sram.output, sram.offset = 64", "sram.output, sram.offset = 4"),
    ),
    "output-never-written": layers(
        "the end of @net: %y at byte 48: never written",
        ("scf.for %i = %c0 to %c4", "%c3 = arith.constant 3 : index\n  scf.for %i = %c0 to %c3"),
        ("sram.output, sram.offset = 64", "sram.output, sram.offset = 192"),
        ("sram.arena = 192", "sram.arena = 256"),
    ),
    "wait-missing": tiles(
        "the target of a transfer that nobody has waited for", ("    dma.wait %ahead\n", "")
    ),
    "wait-moved-later": tiles(
        "the target of a transfer that nobody has waited for",
        ("  dma.wait %first\n", ""),
        ("  %half1 =", "  dma.wait %first\n  %half1 ="),
    ),
    "wait-twice": tiles(
        "has been waited for already", ("  dma.wait %first\n", "  dma.wait %first\n" * 2)
    ),
    "wait-missing-at-the-end": tiles(
        "nobody waits for before the function returns", ("    dma.wait %sent\n  }", "  }")
    ),
    "source-written-too-soon": tiles(
        "the source of a running transfer",
        ("    dma.wait %back\n", ""),
    ),
    "sent-before-computed": tiles(
        "%out at byte 0: never written",
        (LAYER, ""),
        ("    dma.wait %back\n", f"    dma.wait %back\n{LAYER}"),
    ),
    "transfer-missing": tiles(
        "%tile at byte 0: never written", (FIRST, ""), ("  dma.wait %first\n", "")
    ),
    "transfer-longer-by-one": tiles(
        "%tile: a view of indices 0 to 16, outside of its axis (0 to 15)",
        ("!half =", f"!from = {LONG}, #npu.dram>\n!to = {LONG}, #npu.sram>\n!half ="),
        (
            "%tile[%c0, 0] [1, 16] [1, 1] : !halves to !half",
            "%tile[%c0, 0] [1, 17] [1, 1] : !halves to !to",
        ),
        (
            "%x[%c0, 0] [1, 16] [1, 1] : !off_chip to !part",
            "%x[%c0, 0] [1, 17] [1, 1] : !off_chip to !from",
        ),
        (FIRST, FIRST.replace("!part", "!from").replace("!half", "!to")),
    ),
    "prefetch-into-the-half-in-use": tiles(
        "the target of a transfer that nobody has waited for",
        ("%filled = arith.remui %next", "%filled = arith.remui %r"),
    ),
    "double-buffer-with-one-half": tiles(
        "the target of a transfer that nobody has waited for",
        ("%filled = arith.remui %next, %c2", "%filled = arith.remui %next, %c1"),
        ("%used = arith.remui %r, %c2", "%used = arith.remui %r, %c1"),
    ),
    "double-buffer-too-small": tiles(
        "%tile: a view of indices 1 to 1, outside of its axis (0 to 0)",
        ("!halves = memref<2x16xi8", "!halves = memref<1x16xi8"),
    ),
    "tile-over-the-output": tiles(
        "overwritten by", ("%out = sram.alloc at 32", "%out = sram.alloc at 31")
    ),
    "tile-outside-of-the-arena": tiles(
        "%out at byte 15: outside of the buffer of 16 bytes in the arena",
        ("sram.arena = 48", "sram.arena = 40"),
    ),
    "maps-overlap-off-the-chip": tiles(
        "%map at byte 32: overwritten by %other",
        ("%other = dram.alloc at 64", "%other = dram.alloc at 32"),
    ),
    "ring-one-row-short": rows(
        "%ring: a view of indices 2 to 2, outside of its axis (0 to 1)",
        ("!ring = memref<3x4xi8", "!ring = memref<2x4xi8"),
    ),
    "ring-not-filled": rows(
        "%ring at byte 0: never written",
        ("arith.select %begins, %r, %later", "arith.select %begins, %later, %later"),
    ),
    "one-row-too-many": rows(
        "%x: a view of indices 8 to 10, outside of its axis (0 to 9)",
        ("scf.for %r = %c0 to %c6", "%c7 = arith.constant 7 : index\n  scf.for %r = %c0 to %c7"),
    ),
    "output-one-byte-too-far": rows(
        "%x at byte 12: overwritten by %y",
        ("sram.output, sram.offset = 0", "sram.output, sram.offset = 9"),
    ),
    "ring-over-the-input": rows(
        "%x at byte 39: overwritten by %ring",
        ("%ring = sram.alloc at 40", "%ring = sram.alloc at 39"),
    ),
}
"""The faults by their names."""
