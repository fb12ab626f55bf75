"""Users' mistakes about tiles give one message, exit code 1, no file and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.failures import expect_failure
from helpers.paths import ROOT
from npu_tools.commands import compile, opt

MODEL = str(ROOT / "examples" / "lenet5" / "lenet5.onnx")
ROAD = (
    "npu-fuse-conv-relu-pool,npu-bufferize,npu-spill-maps,npu-tile-loops{},npu-double-buffer,"
    "npu-assign-sram-offsets,npu-assign-dram-offsets,npu-outline-layers,npu-lower-to-loops"
)
SMALL = """\
name = "small"
sram_bytes = 200
flash_bytes = 1048576
alignment = 4
registers = 16
"""
PL330 = "dma_fifo_bytes = 1024\n"
IN_DRAM = "memref<4x8xf32, #npu.dram>"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("{tile-sizes=99,99,99,300}", ("fc1", "needs 48000 bytes", "there are 17920 left")),
        ("{tile-sizes=0,4,4,4}", ("conv1", "each at least 1, got [0, 4, 4, 4]")),
        ("{tile-sizes=4,4,-4,4}", ("conv1", "each at least 1, got [4, 4, -4, 4]")),
        ("{tile-sizes=4,4}", ("conv1", "rows, columns, in and out", "got [4, 4]")),
        ("{tile-sizes=x}", ("tile_sizes", "'x'")),
        ("{loop-order=best}", ("loop_order", "paper, any", "'best'")),
    ],
)
def test_tiles_that_are_none(
    options: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mine.toml"
    target.write_text(SMALL.replace("200", "20000") + "dma_channels = 4\n")
    command = [MODEL, "--target", str(target), "-o", str(tmp_path / "out")]
    road = ROAD.replace("{}", options)
    expect_failure(capsys, lambda: compile.main([*command, "--pipeline", road]), words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (SMALL, ("bytes of SRAM needed, 200 available on small",)),
        (SMALL + "dma_channels = 4\n", ("bytes of SRAM at least, small has 200",)),
        (SMALL + "dma_channels = -1\n", ("dma_channels", "at least 0", "-1")),
        (SMALL + PL330 + "dma_channels = 9\n", ("dma_channels to be at most 8", "got 9")),
        (SMALL + PL330 + "dma_events = 33\n", ("dma_events to be at most 32", "got 33")),
    ],
)
def test_machines_without_room(
    machine: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mine.toml"
    target.write_text(machine)
    command = [MODEL, "--target", str(target), "-o", str(tmp_path / "out")]
    expect_failure(capsys, lambda: compile.main(command), words)


@pytest.mark.parametrize(
    ("machine", "passes", "channel", "words"),
    [
        ("host", "npu-tile-loops", 0, ("expected a machine with dma_channels", "got host")),
        ("exynos-npu", "npu-lower-dma-to-pl330", 0, ("expected a machine with a PL-330",)),
        ("zynq7020", "npu-lower-dma-to-pl330", 8, ("expected a channel below 8, got 8",)),
    ],
)
def test_machines_that_cannot(
    machine: str,
    passes: str,
    channel: int,
    words: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    on_chip = IN_DRAM.replace("dram", "sram")
    path = tmp_path / "in.mlir"
    path.write_text(f"""
func.func @f(%x: {IN_DRAM}, %y: {on_chip}) {{
  %t = dma.start %x to %y channel {channel} : {IN_DRAM} to {on_chip}
  dma.wait %t
  npu.relu ins(%x : {IN_DRAM}) outs(%y : {on_chip})
  func.return
}}""")
    road = f"npu-attach-target{{target={machine}}},{passes}"
    expect_failure(capsys, lambda: opt.main([str(path), "-p", road]), words)
