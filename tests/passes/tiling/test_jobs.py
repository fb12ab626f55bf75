"""Layers searched at the same time get the same tiles as layers searched one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from helpers.paths import LENET5
from helpers.tiles.chain import chain
from helpers.tiles.flownet_s import square
from npu_dialect.machine import Machine
from npu_dialect.npu import Conv2dOp
from npu_passes.tiling.conv_tiles import gaps

LAYERS = (
    square("conv1", 24, 32, 3, 8, 7, 2),
    square("conv2", 12, 16, 8, 12, 5, 2),
    square("conv3", 6, 8, 12, 12, 3, 1),
)


def test_jobs_change_nothing() -> None:
    machine = Machine("small", 3000, 0, alignment=8, dma_channels=4)
    one, two = (chain(LAYERS, machine, f"npu-tile-loops{option}") for option in ("", "{jobs=2}"))
    assert str(one) == str(two)


def test_no_jobs_are_rejected() -> None:
    machine = Machine("small", 3000, 0, alignment=8, dma_channels=4)
    with pytest.raises(PassFailedException, match="expected jobs of at least 1, got 0"):
        chain(LAYERS, machine, "npu-tile-loops{jobs=0}")


def test_the_first_layer_that_does_not_fit_is_named() -> None:
    machine = Machine("small", 64, 0, alignment=8, dma_channels=4)
    with pytest.raises((DiagnosticException, PassFailedException), match="conv1: its smallest"):
        chain(LAYERS, machine, "npu-tile-loops{jobs=2}")


@pytest.mark.parametrize(("jobs", "code"), [("2", 0), ("0", 1)])
def test_npu_compile_takes_jobs(tmp_path: Path, jobs: str, code: int) -> None:
    command = [
        sys.executable,
        "-m",
        "npu_tools.commands.compile",
        str(LENET5),
        "--target",
        "zynq7020",
    ]
    command += ["--jobs", jobs, "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert ("expected an integer of at least 1, got '0'" in done.stderr) is (code == 1)


@pytest.mark.parametrize(("alignment", "expected"), [(1, 0), (4, 0), (64, 480)])
def test_gaps_between_buffers(alignment: int, expected: int) -> None:
    """Eight buffers of float32 elements, each aligned to more than four bytes or not."""
    machine = Machine("small", 3000, 0, alignment=alignment, dma_channels=4)
    module = chain(LAYERS[:1], machine, "npu-choose-layouts")
    (conv,) = (op for op in module.walk() if isinstance(op, Conv2dOp))
    assert gaps(conv, machine) == expected
