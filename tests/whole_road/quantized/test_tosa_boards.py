"""Int8 networks as `tosa` text on emulated boards, with channels second and last.

An image with channels last is read where it lies, in no more instructions than planes; one network
takes a little more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.emulated import require
from helpers.from_mlir.tosa_integers import integer_text
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from npu_dialect.interpreters import run_function
from npu_passes.graph.integer_io import IntegerIoPass
from npu_passes.graph.requantize_mode import RequantizeModePass
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.importers.frontends import load
from npu_tools.shared.files import write_files
from npu_tools.shared.installed import context
from npu_tools.verifying.emulators import run_on

MORE = {("cortex-m4", "cifar10"): 1.04}
"""How much more instructions than planes an image with channels last may take."""
STACK = 1024
"""Bytes of RAM beside the arena."""


def instructions(board: str, folder: Path, text: str, *, last: bool) -> int:
    """Run a network on a board, and compare it with the interpreter; returns its instructions."""
    folder.mkdir()
    path = folder / "net.mlir"
    path.write_text(text, encoding="utf-8")
    compiled = compile_model(Job(path, board, prefix="net"))
    (shape,) = compiled.report.inputs.values()
    order = (0, 3, 1, 2) if last else (0, 1, 2, 3)
    places = [shape[axis] for axis in order]
    image = np.random.default_rng(4).integers(-128, 128, places).astype(np.int8)
    given = np.ascontiguousarray(image.transpose(0, 2, 3, 1) if last else image)
    (want,) = run_function(load(path, {}).module, None, [given])
    assert len(np.unique(want)) > 1
    write_files(folder, compiled.files)
    (run,) = run_on(board, folder / "net.c", [{"image": given}], stack_bytes=STACK).runs
    (got,) = run.outputs.values()
    np.testing.assert_array_equal(got, want.ravel())
    return run.instructions


def compared(board: str, network: str, folder: Path, **options: Any) -> None:
    """Run a network with channels second and last."""
    require(board)
    module = load(saved_int8(folder, network, **options), {}).module
    IntegerIoPass().apply(context(), module)
    RequantizeModePass("fixed").apply(context(), module)
    second, last = (
        instructions(board, folder / str(last), integer_text(module, channels_last=last), last=last)
        for last in (False, True)
    )
    assert last <= MORE.get((board, network), 1.0) * second


@pytest.mark.slow
def test_small_network(tmp_path: Path) -> None:
    compared("cortex-m4", "cifar10", tmp_path, **TINY["cifar10"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "network"),
    [
        ("fe310", "cifar10"),
        *(("cortex-m4", each) for each in ("lenet5", "cifar10", "resnet8", "mobilenet_v1")),
    ],
)
def test_networks(board: str, network: str, tmp_path: Path) -> None:
    compared(board, network, tmp_path)
