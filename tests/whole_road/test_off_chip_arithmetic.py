"""Arithmetic, reductions and selections in tiles, on a machine with DMA and little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.agreement import agree
from helpers.onnx_models import int64, node, numbers

MACHINE = """\
name = "small"
sram_bytes = {}
flash_bytes = 1000000
dma_channels = 1
row_multiple = 1
column_multiple = 1
kernel_group = 0
weight_buffers = 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("sram", [20000, 1200])
def test_a_normalised_map(sram: int, tmp_path: Path) -> None:
    """Each layer is one tile, or several of which each needs a part of its operands."""
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1]),
        node("ReduceMean", "a rows", "m"),
        node("Sub", "a m", "d"),
        node("ReduceSumSquare", "d rows", "s"),
        node("Max", "s least", "v"),
        node("Div", "d v", "n"),
        node("ReduceMax", "n channels", "best"),
        node("Less", "n best", "below"),
        node("Where", "below n a", "y_kept"),
        node("Mul", "a gate", "y_gated"),
        node("LogSoftmax", "y_kept", "y_log", axis=1),
    ]
    weights = {
        "w": numbers(4, 3, 3, 3),
        "rows": int64(3),
        "channels": int64(1),
        "least": np.array([1e-3], np.float32),
        "gate": numbers(1, 1, 10, 12),
    }
    machine = tmp_path / "machine.toml"
    machine.write_text(MACHINE.format(sram))
    agree(nodes, {"x": numbers(1, 3, 10, 12)}, weights, folder=tmp_path, target=str(machine))
