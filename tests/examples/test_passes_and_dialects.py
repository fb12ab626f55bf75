"""docs/embedding.md: each pass of the table on linalg, on an op with `Computes`, on a `LayerOp`."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest
from xdsl.context import Context

from helpers.paths import ROOT
from helpers.pipeline import context, parse, run_passes

PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
TOY = ROOT / "examples" / "embedding" / "toy.py"
OPS = {
    "linalg": ("linalg.exp ins(X : T) outs(Y : T)", "linalg.exp ins(X : T) outs(E : T) -> T"),
    "trait `Computes`": ('"toy.mix"(X, Y) : (T, T) -> ()', '"toy.mix"(X) : (T) -> T'),
    "`LayerOp`": ("toy.square ins(X : T) outs(Y : T)", "toy.square X : T -> T"),
}
"""How each kind computes Y from X: on buffers, and on tensors."""
HEAD = (
    'builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 4096 : i64, '
    "flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {"
)
TENSORS = f"""{HEAD}
func.func @f(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {{
  %e = tensor.empty() : tensor<64x32xf32>
  %y = OP
  func.return %y : tensor<64x32xf32>
}} }}"""
OFF_CHIP = f"""{HEAD}
func.func @f(%x: memref<64x32xf32, #npu.dram>, %y: memref<64x32xf32, #npu.dram>) {{
  OP
  func.return
}} }}"""
ON_CHIP = f"""{HEAD}
func.func @f() {{
  %x = sram.alloc : memref<64x32xf32, #npu.sram>
  %y = sram.alloc : memref<64x32xf32, #npu.sram>
  OP
  OP
  func.return
}} }}"""
TIMES = (
    "clock_hz = 1 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 4 : i64, "
    "dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 9 : i64"
)
TIMED = OFF_CHIP.replace("dma_channels = 4 : i64", f"dma_channels = 4 : i64, {TIMES}")
OUTLINED = ON_CHIP.replace("64x32", "4x4")
TWICE = OFF_CHIP.replace(
    "  OP\n",
    """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %twice = %c0 to %c2 step %c1 {
    OP
  }
""",
)
READERS = OFF_CHIP.replace(
    "  OP\n",
    """  %z = dram.alloc : memref<64x32xf32, #npu.dram>
  %v = dram.alloc : memref<64x32xf32, #npu.dram>
  OP
  npu.relu ins(%v : memref<64x32xf32, #npu.dram>) outs(%v : memref<64x32xf32, #npu.dram>)
  AGAIN
""",
)
SMALL = OFF_CHIP.replace("64x32", "16x8").replace("  OP\n", "  OP\n  OP\n")
ROWS = TENSORS.replace("%y = OP", "%h = OP\n  %y = NEXT")
TILES = "npu-tile-loops"
CELLS = {
    "npu-fuse-rows": (ROWS, "npu-fuse-rows{when=always}", r"%y = npu.rows of %x : .*\n *%h = "),
    "npu-fuse-regions": (
        ROWS,
        "npu-fuse-regions{when=always}",
        r"%y = npu.rows of %x attributes \{npu.row_time.*\n *%h = .*npu.row_time",
    ),
    "npu-bufferize": (TENSORS, "npu-bufferize", r"memref<64x32xf32, #npu.dram> \{dram.output"),
    "npu-spill-maps": (ON_CHIP, "npu-spill-maps", r"dram.alloc : memref<64x32xf32"),
    "npu-keep-maps": (SMALL, "npu-keep-maps", r'"memref.copy"\(%x, %x_1\)'),
    "npu-gather-readers": (
        READERS,
        "npu-gather-readers",
        r"%x\b.*%y\b.*\n.*%x\b.*%z\b.*\n *npu.relu",
    ),
    "npu-tile-loops": (OFF_CHIP, TILES, r"scf.for[^{]*\{[^}]*dma.start"),
    "npu-double-buffer": (OFF_CHIP, f"{TILES},npu-double-buffer", "npu.double_buffered"),
    "npu-unroll-loops": (
        TWICE,
        f"{TILES},npu-double-buffer,npu-unroll-loops",
        r"(?s)^(?!.*scf.for %twice).*npu.double_buffered.*npu.double_buffered",
    ),
    "npu-assign-sram-offsets": (
        OFF_CHIP,
        f"{TILES},npu-assign-sram-offsets",
        r"sram.arena = [1-9]\d* ",
    ),
    "npu-assign-dram-offsets": (
        ON_CHIP,
        "npu-spill-maps,npu-assign-dram-offsets",
        r"dram.alloc at \d+ :",
    ),
    "npu-outline-layers": (OUTLINED, "npu-outline-layers", r"func.call @\w+\(%x, %y\)"),
    "npu-estimate-time": (
        TIMED,
        f"{TILES},npu-double-buffer,npu-estimate-time",
        r"@f\(.*npu.cycles = \{compute = [1-9]\d* : i64, transfer = [1-9]",
    ),
}
"""A program, passes, and what they must have written."""


def test_the_table_has_all_cells() -> None:
    rows = re.findall(r"^\| `(npu-[a-z-]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == list(CELLS)
    assert all(cells.split(" | ") == ["yes"] * len(OPS) for _, cells in rows)
    head = "".join(re.findall(r"^\| pass \| (.*) \|$", PAGE, re.MULTILINE))
    assert [each.strip("`") for each in head.split(" | ")] == [each.strip("`") for each in OPS]


@pytest.mark.parametrize("kind", OPS)
@pytest.mark.parametrize("name", CELLS)
def test_cell(name: str, kind: str) -> None:
    program, passes, expected = CELLS[name]
    types = re.findall(r"(?:tensor|memref)<[^>]*>", program)
    op = OPS[kind]["tensor" in types[0]]
    for letter, text in (("X", "%x"), ("Y", "%y"), ("E", "%e"), ("T", types[0])):
        op = re.sub(rf"\b{letter}\b", text, op)
    with_toy = with_toy_dialect()
    text = program.replace("OP", op).replace("NEXT", op.replace("%x", "%h"))
    text = text.replace("AGAIN", op.replace("%y", "%z"))
    written = str(run_passes(with_toy, parse(with_toy, text), passes))
    assert re.search(expected, written), written[:2000]


def with_toy_dialect() -> Context:
    """All dialects, and that of the embedding compiler."""
    found = context()
    spec = importlib.util.spec_from_file_location("toy", TOY)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found.load_dialect(module.TOY)
    return found
