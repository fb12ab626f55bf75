"""LeNet-5 of the example, compiled for the microcontrollers, on held-out handwritten digits."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from helpers.emulated import require
from helpers.paths import LENET5_FOLDER
from npu_tools.commands.compile import main
from npu_tools.verifying.emulators import BuildError, Result, run_on

EXAMPLE = LENET5_FOLDER
MODEL = EXAMPLE / "lenet5.onnx"
DIGITS = 6
DIGITS_THAT_FIT = {"cortex-m0": 1}
"""The number of digits on machines whose flash is nearly full; the inputs lie there, too."""

INSTRUCTIONS = {"fe310": 79_900_000, "cortex-m4": 1_770_920}
"""Limits for one inference: the paper's own C on the FE310, the fastest peer on the M4."""

ARENA = {"cortex-m55": 5400}
"""Bytes where kernels compute outputs in another order: maps may lie nearer to each other."""

Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def digits() -> tuple[Floats, Floats]:
    """Inputs [N, 1, 32, 32] (below 100 of 255 is 0), and the scores of onnxruntime [N, 10]."""
    with np.load(EXAMPLE / "heldout.npz") as held:
        grey: npt.NDArray[np.uint8] = held["images"][:DIGITS]
    cut = np.where(grey < 100, 0, grey).astype(np.float32) / np.float32(255)
    images: Floats = cut.reshape(DIGITS, 1, 32, 32)
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    scores = [session.run(None, {"image": image[None]})[0] for image in images]
    return images, np.concatenate(scores)


def compile_and_run(machine: str, folder: Path, images: Floats, *options: str) -> Result:
    """As a user does it: npu-compile, then the C compiler, then the board."""
    assert main([str(MODEL), "--target", machine, *options, "-o", str(folder)]) == 0
    return run_on(machine, folder / "lenet5.c", [{"image": image} for image in images])


def test_lenet5(machine: str, tmp_path: Path, digits: tuple[Floats, Floats]) -> None:
    images, scores = digits
    count = DIGITS_THAT_FIT.get(machine, DIGITS)
    result = compile_and_run(machine, tmp_path, images[:count])
    for run, want in zip(result.runs, scores[:count], strict=True):
        got = run.outputs["scores"]
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
        assert got.argmax() == want.argmax()
    assert result.arena_bytes == ARENA.get(machine, 5412)
    assert result.ram_bytes <= 6112
    if machine in INSTRUCTIONS:
        assert result.instructions <= INSTRUCTIONS[machine]


@pytest.mark.slow
def test_lenet5_needs_most_of_16_kb(
    fe310: str, tmp_path: Path, digits: tuple[Floats, Floats]
) -> None:
    """The linker enforces the machine's RAM: with a larger stack, 16 KB are not enough."""
    images, _ = digits
    compile_and_run(fe310, tmp_path, images[:1])
    with pytest.raises(BuildError, match=r"region `RAM' overflowed"):
        run_on(fe310, tmp_path / "lenet5.c", [{"image": images[0]}], stack_bytes=16384 - 5412)


@pytest.mark.slow
def test_lenet5_in_rows(tmp_path: Path, digits: tuple[Floats, Floats]) -> None:
    """The rows of an image lie in flash, and the arena holds six of them."""
    images, scores = digits
    options = ("--stream-input", "--pipeline", "rows")
    result = compile_and_run(require("cortex-m4"), tmp_path, images[:1], *options)
    got = result.runs[0].outputs["scores"]
    assert np.abs(got - scores[0]).max() <= 1e-5 * np.abs(scores[0]).max()
    assert result.arena_bytes == 4068
    assert result.instructions <= 1_900_000
