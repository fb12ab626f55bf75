"""Random loops over tiles as text: transfers, layers and inner loops."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Case:
    """A loop over tiles of rows of %x, and what happens to each tile.

    `kind`: what happens to a tile. `relu`: a ReLU from one buffer to another. `place`: a ReLU in
    place, so that one buffer is loaded and stored. `sums`: an inner loop over groups of channels,
    whose convolutions add up. `groups`: an inner loop that loads and stores tiles of its own.
    `parts`: a tile is loaded and stored in two transfers, its first row and the others.
    """

    kind: str
    first: int
    step: int
    rounds: int
    rows: int
    columns: int
    channels: int
    outer: bool
    inner: bool
    in_body: bool
    shifted: bool
    """Whether each tile is a view of a larger buffer."""
    late: bool = False
    """Whether there is room to store a tile of sums a step later."""
    ahead: bool = False
    """Whether there is room to load a tile two steps ahead."""

    @property
    def request(self) -> str:
        """The attributes of a loop that asks for double buffers."""
        late = ", npu.late_sums" if self.late else ""
        ahead = ", npu.two_ahead" if self.ahead else ""
        return f"{{npu.double_buffer{late}{ahead}}}"

    @property
    def height(self) -> int:
        """Rows of the maps."""
        return max(1, self.first + self.rounds * self.step) * self.rows

    def text(self) -> str:
        """The text of the function."""
        shape = f"1x{self.channels}x{self.height}x{self.columns}xf32"
        last = self.first + self.rounds * self.step
        constants = {0, 1, 2, self.first, self.step, self.rows, last, self.channels}
        lines = [f"%c{n} = arith.constant {n} : index" for n in sorted(constants)]
        lines += [] if self.in_body else self.buffers()
        lines += [f"scf.for %i = %c{self.first} to %c{last} step %c{self.step} {{"]
        lines += [f"%r = arith.muli %i, %c{self.rows} : index"]
        lines += self.buffers() if self.in_body else []
        lines += self.body()
        lines += [f"}} {self.request}" if self.outer else "}", "func.return"]
        return "\n".join(
            [
                f"func.func @f(%x : memref<{shape}, #npu.dram> {{dram.input}},",
                f"  %k : memref<{self.channels}x1x1x1xf32, #npu.dram> {{dram.input}},",
                f"  %y : memref<{shape}, #npu.dram> {{dram.output}}) {{",
                *lines,
                "}",
            ]
        )

    def tile(self, channels: int) -> str:
        """The type of a tile on chip."""
        shape = f"1x{channels}x{self.rows}x{self.columns}xf32"
        if not self.shifted:
            return f"memref<{shape}, #npu.sram>"
        plane = (self.rows + 1) * self.columns
        strides = f"[{channels * plane}, {plane}, {self.columns}, 1]"
        return f"memref<{shape}, strided<{strides}, offset: {self.columns}>, #npu.sram>"

    def buffer(self, name: str, channels: int) -> list[str]:
        """Allocate a tile."""
        if not self.shifted:
            return [f"%{name} = sram.alloc : {self.tile(channels)}"]
        whole = f"memref<1x{channels}x{self.rows + 1}x{self.columns}xf32, #npu.sram>"
        sizes = f"[1, {channels}, {self.rows}, {self.columns}]"
        return [
            f"%{name}_all = sram.alloc : {whole}",
            f"%{name} = memref.subview %{name}_all[0, 0, 1, 0] {sizes} [1, 1, 1, 1] "
            f": {whole} to {self.tile(channels)}",
        ]

    def buffers(self) -> list[str]:
        """Allocate the tiles."""
        depth = {"sums": (1, 1), "groups": (1, 1)}.get(self.kind, (self.channels,) * 2)
        found = self.buffer("a", depth[0]) + self.buffer("b", depth[1])
        if self.kind == "sums":
            found += ["%w = sram.alloc : memref<1x1x1x1xf32, #npu.sram>"]
        return found

    def part(self, of: str, channel: str, channels: int) -> tuple[str, str]:
        """The text of a view of rows of a map, and its type."""
        plane = self.height * self.columns
        whole = f"memref<1x{self.channels}x{self.height}x{self.columns}xf32, #npu.dram>"
        kind = (
            f"memref<1x{channels}x{self.rows}x{self.columns}xf32, "
            f"strided<[{self.channels * plane}, {plane}, {self.columns}, 1], offset: ?>, #npu.dram>"
        )
        sizes = f"[1, {channels}, {self.rows}, {self.columns}]"
        view = f"memref.subview %{of}[0, {channel}, %r, 0] {sizes} [1, 1, 1, 1] : {whole} to {kind}"
        return view, kind

    def load(self, channel: str = "0", channels: int | None = None) -> list[str]:
        """Load a tile."""
        depth = channels or self.channels
        view, kind = self.part("x", channel, depth)
        start = f"%t = dma.start %in to %a channel 1 : {kind} to {self.tile(depth)}"
        return [f"%in = {view}", start, "dma.wait %t"]

    def store(
        self, source: str = "b", channel: str = "0", channels: int | None = None
    ) -> list[str]:
        """Store a tile."""
        depth = channels or self.channels
        view, kind = self.part("y", channel, depth)
        start = f"%s = dma.start %{source} to %out channel 3 : {self.tile(depth)} to {kind}"
        return [f"%out = {view}", start, "dma.wait %s"]

    def body(self) -> list[str]:
        """The lines of one iteration."""
        match self.kind:
            case "relu":
                return [*self.load(), self.relu("a", "b", self.channels), *self.store()]
            case "place":
                return [*self.load(), self.relu("a", "a", self.channels), *self.store("a")]
            case "parts" if self.rows > 1:
                whole = self.relu("a", "b", self.channels)
                return [*self.in_parts("x", "a"), whole, *self.in_parts("y", "b")]
            case "parts":
                return [*self.load(), self.relu("a", "b", self.channels), *self.store()]
            case "groups":
                inside = [*self.load("%c", 1), self.relu("a", "b", 1), *self.store("b", "%c", 1)]
                return self.inside(inside, "%c0")
            case _:
                head = [line.replace("%c,", "%c0,") for line in self.group("")]
                head = [re.sub(r"%(in|t|u|v)\b", r"%\1_0", line) for line in head]
                tail = self.inside(self.group("accumulate"), "%c1")
                return [*head, *tail, *self.store("b", "0", 1)]

    def in_parts(self, of: str, tile: str) -> list[str]:
        """Load the tile of %x in two parts, or store that of %y."""
        pitch = self.columns * (self.rows + self.shifted)
        strides = [self.channels * pitch, pitch, self.columns, 1]
        plane = self.height * self.columns
        far = (
            f"strided<[{self.channels * plane}, {plane}, {self.columns}, 1], offset: ?>, #npu.dram"
        )
        whole = f"memref<1x{self.channels}x{self.height}x{self.columns}xf32, #npu.dram>"
        lines: list[str] = []
        channels = (1, 2) if of == "x" else (3, 3)  # stores of one map stay in order
        for part, (first, rows) in enumerate(((0, 1), (1, self.rows - 1))):
            shape = f"memref<1x{self.channels}x{rows}x{self.columns}xf32"
            near = f"strided<{strides}, offset: {self.columns * (first + self.shifted)}>, #npu.sram"
            sizes = f"[1, {self.channels}, {rows}, {self.columns}] [1, 1, 1, 1]"
            name = f"{of}{part}"
            ends = [f"%{name}_far", f"%{name}_near", f"{shape}, {far}>", f"{shape}, {near}>"]
            if of == "y":
                ends = [ends[1], ends[0], ends[3], ends[2]]
            lines += [
                f"%{name}_row = arith.addi %r, %c{first} : index",
                f"%{name}_far = memref.subview %{of}[0, 0, %{name}_row, 0] {sizes} "
                f": {whole} to {shape}, {far}>",
                f"%{name}_near = memref.subview %{tile}[0, 0, {first}, 0] {sizes} "
                f": {self.tile(self.channels)} to {shape}, {near}>",
                f"%{name}_t = dma.start {ends[0]} to {ends[1]} channel {channels[part]} "
                f": {ends[2]} to {ends[3]}",
            ]
        return [*lines, f"dma.wait %{of}0_t", f"dma.wait %{of}1_t"]

    def inside(self, lines: list[str], first: str) -> list[str]:
        """A loop over channels."""
        end = f"}} {self.request}" if self.inner else "}"
        return [f"scf.for %c = {first} to %c{self.channels} step %c1 {{", *lines, end]

    def relu(self, source: str, target: str, channels: int) -> str:
        """The text of a ReLU."""
        kind = self.tile(channels)
        return f"npu.relu ins(%{source} : {kind}) outs(%{target} : {kind})"

    def group(self, accumulate: str) -> list[str]:
        """Load one channel and its kernel, and convolve."""
        tile, one = self.tile(1), "memref<1x1x1x1xf32, #npu.sram>"
        part = "memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>, #npu.dram>"
        return [
            *self.load("%c", 1),
            "%v = memref.subview %k[%c, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1] : "
            f"memref<{self.channels}x1x1x1xf32, #npu.dram> to {part}",
            f"%u = dma.start weights %v to %w channel 0 : {part} to {one}",
            "dma.wait %u",
            f"npu.conv2d ins(%a, %w : {tile}, {one}) outs(%b : {tile}) {accumulate}",
        ]


CASES = st.builds(
    Case,
    kind=st.sampled_from(("relu", "place", "parts", "sums", "groups")),
    first=st.integers(0, 2),
    step=st.integers(1, 3),
    rounds=st.integers(0, 6),
    rows=st.integers(1, 3),
    columns=st.integers(1, 3),
    channels=st.integers(1, 5),
    outer=st.booleans(),
    inner=st.booleans(),
    in_body=st.booleans(),
    shifted=st.booleans(),
    late=st.booleans(),
    ahead=st.booleans(),
)
