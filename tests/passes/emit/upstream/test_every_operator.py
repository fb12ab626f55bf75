"""Random networks of every operator through LLVM's tools compute what our C computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.every_operator.draw import draw
from helpers.upstream import compiled_both, needs_llvm, run_both

SEEDS = range(1000, 1040)
TOGETHER = 4
"""How many networks a test has."""


pytestmark = pytest.mark.usefixtures("no_warnings")


def agree(seed: int, folder: Path) -> None:
    """Compare both programs of a random network: integers exactly, floats up to 1e-5."""
    drawn = draw(seed)
    (folder / "net.onnx").write_bytes(drawn.model.SerializeToString())
    both = compiled_both(folder / "net.onnx", "cortex-m4" if seed % 2 else "host")
    inputs = [drawn.feeds[name] for name in both.compiled.report.inputs]
    for ours, theirs in zip(*run_both(both, folder, inputs), strict=True):
        if ours.dtype.kind != "f":
            np.testing.assert_array_equal(theirs, ours, err_msg=f"seed {seed}")
            continue
        finite = np.abs(ours[np.isfinite(ours)])
        room = 1e-5 * float(finite.max(initial=0))
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=room, err_msg=f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::TOGETHER])
def test_random_networks(first: int, tmp_path: Path) -> None:
    needs_llvm()
    for seed in range(first, first + TOGETHER):
        agree(seed, tmp_path)
