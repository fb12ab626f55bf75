"""Draws the picture of README.md: the on-chip memory of LeNet-5, layer by layer and as planned.

    python scripts/picture.py           write docs/images/lenet5-memory.svg
    python scripts/picture.py --check   fail if it differs from what would be written

Both halves are read from the IR after `npu-assign-sram-offsets`, as `npu-compile --memory-map` does
it. Addresses have the same scale on both sides.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from npu_dialect.machine import Machine
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.pictures.map_stop import MapStop
from npu_tools.pictures.memory_map import Box, MemoryMap

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "lenet5-memory.svg"
MODEL = Path("examples/lenet5/lenet5.onnx")
TARGET = "fe310"

WIDTH, HEIGHT = 860, 500
BOTTOM, TALL = 430, 340
"""The pixel row of address 0, and the height of the larger arena in pixels."""
INK, FAINT, PAPER, RED = "#22303c", "#5b6773", "#ffffff", "#c0392b"
INPUT, OUTPUT, MAPS = "#7fb3d9", "#8cc79a", ("#f4c38b", "#c9b3dd", "#f2a9a0", "#9fd3d0", "#e8dc8a")


@dataclass(frozen=True)
class Panel:
    """One half of the picture: a memory map. Positions and lengths are in pixels.

    `left` is where it begins, `step` the width of each step.
    """

    memory: MemoryMap
    title: str
    left: int
    step: int
    pixels_per_byte: float

    @property
    def right(self) -> int:
        """The right end of the last step."""
        return self.left + self.step * len(self.memory.steps)

    def height(self, address: int) -> float:
        """The pixel row of an address."""
        return BOTTOM - address * self.pixels_per_byte


def memory_map(pipeline: str, target: str) -> MemoryMap:
    """The memory map of LeNet-5 after a pipeline.

    Raises: LookupError if the pipeline assigns no offsets.
    """
    stop = MapStop(MODEL.name)
    compile_model(Job(model=ROOT / MODEL, target=target, pipeline=pipeline, observers=(stop,)))
    if stop.found is None:
        raise LookupError(f"{pipeline}: expected a pipeline that assigns offsets")
    return stop.found


def text(x: float, y: float, words: str, look: str = "") -> str:
    """The SVG element of a line of text; `look` is its other attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    """The SVG element of a straight line; `look` is its other attributes."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def colours(*memories: MemoryMap) -> Mapping[str, str]:
    """A colour for each buffer, by its name, so that it is the same on both sides."""
    boxes = [box for memory in memories for box in memory.boxes]
    maps = dict.fromkeys(box.name for box in boxes if box.role == "map")
    found = {name: MAPS[turn % len(MAPS)] for turn, name in enumerate(maps)}
    ends = {"input": INPUT, "output": OUTPUT}
    return found | {box.name: ends[box.role] for box in boxes if box.role in ends}


def drawn_box(panel: Panel, box: Box, fill: str) -> Iterator[str]:
    """The SVG of a buffer, from its first to its last step, with name and bytes if they fit."""
    left = panel.left + box.first * panel.step
    width = (box.last - box.first + 1) * panel.step
    high = max(box.size * panel.pixels_per_byte, 2.0)
    top = panel.height(box.offset) - high
    yield (
        f'<rect x="{left}" y="{top:.1f}" width="{width}" height="{high:.1f}" '
        f'fill="{fill}" stroke="{INK}" stroke-width="0.7"/>'
    )
    name = box.name.removesuffix("_out")
    middle = left + width / 2
    if high > 26 and width > 50:
        yield text(middle, top + high / 2 - 2, name, 'text-anchor="middle"')
        yield text(middle, top + high / 2 + 12, f"{box.size:,}", 'text-anchor="middle"')
    elif high > 13 and width > 80:
        yield text(middle, top + high / 2 + 4, f"{name} {box.size:,}", 'text-anchor="middle"')
    elif high > 13:
        yield text(left + width + 4, top + high / 2 + 4, f"{name} {box.size:,}")


def drawn_panel(panel: Panel, fills: Mapping[str, str]) -> Iterator[str]:
    """The SVG of a panel: its buffers, the steps below, and the arena as an arrow beside them."""
    memory = panel.memory
    for box in memory.boxes:
        yield from drawn_box(panel, box, fills[box.name])
    yield line(panel.left, BOTTOM, panel.right, BOTTOM, f'stroke="{INK}"')
    for number, name in enumerate(memory.steps):
        x = panel.left + (number + 0.5) * panel.step
        turned = f'text-anchor="end" transform="rotate(-45 {x:.1f} {BOTTOM + 14})" fill="{FAINT}"'
        yield text(x, BOTTOM + 14, name, turned)
    top, x = panel.height(memory.arena), panel.left - 12
    ends = f'stroke="{INK}" marker-start="url(#end)" marker-end="url(#end)"'
    yield line(x, top, x, BOTTOM, ends)
    middle = (top + BOTTOM) / 2
    turned = f'text-anchor="middle" transform="rotate(-90 {x - 7} {middle:.1f})" font-weight="bold"'
    yield text(x - 7, middle, f"{memory.arena:,} bytes", turned)
    yield text(panel.left, 34, panel.title, 'font-size="15" font-weight="bold"')


def drawn_sram(left: int, right: int, y: float, sram: int) -> Iterator[str]:
    """The SVG of the line for the machine's SRAM."""
    yield line(left, y, right, y, f'stroke="{RED}" stroke-width="1.5" stroke-dasharray="6 4"')
    words = f"SRAM of the {TARGET.upper()}: {sram:,} bytes"
    yield text(right, y - 6, words, f'text-anchor="end" fill="{RED}"')


def picture() -> str:
    """The text of the SVG file."""
    naive, planned = memory_map("naive", "host"), memory_map("default", TARGET)
    sram = Machine.load(TARGET).sram_bytes
    scale, fills = TALL / naive.arena, colours(naive, planned)
    before = Panel(naive, "Layer by layer, a place for every map", 60, 36, scale)
    after = Panel(planned, "Fused and placed by npu-compile", 540, 60, scale)
    marker = (
        '<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker>'
    )
    label = f"On-chip memory of LeNet-5: {naive.arena} bytes before, {planned.arena} after"
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{label}" font-size="12" '
        f'font-family="system-ui, sans-serif" fill="{INK}">',
        f"<title>{label}</title><defs>{marker}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>',
        *drawn_panel(before, fills),
        *drawn_panel(after, fills),
        *drawn_sram(before.left, after.right, before.height(sram), sram),
        text(60, 56, "address upwards, execution to the right", f'fill="{FAINT}"'),
        text(540, 56, "the same scale", f'fill="{FAINT}"'),
        "</svg>",
    )
    return "\n".join(parts) + "\n"


def main() -> int:
    """Write or check the picture; returns the exit code."""
    parser = argparse.ArgumentParser(description="draw the picture of README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    check: bool = parser.parse_args().check
    drawn = picture()
    same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn
    if check and not same:
        print(f"{PICTURE.relative_to(ROOT)}: stale: run python scripts/picture.py")
        return 1
    if not check:
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
