"""Grouped convolutions that are off the chip: neither tiles nor parts of transfers mix groups.

The machine says how long things take, so that all searches for tiles run.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnx import helper
from xdsl.utils.exceptions import DiagnosticException

from helpers.c_harness import run_c
from helpers.networks.machines import machine_file
from helpers.random_onnx import run
from helpers.road import c_files
from helpers.small_models import model_of
from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.compiling.driver import Job, compile_model

Case: TypeAlias = tuple[int, int, int, int, tuple[int, int], int, tuple[int, int], int]
"""SRAM, groups, filters and channels of a group, map, kernel, strides and the padding above."""

FOUND: tuple[Case, ...] = (
    (2815, 2, 6, 8, (9, 5), 1, (2, 2), 0),
    (2692, 2, 4, 8, (9, 5), 1, (2, 1), 1),
    (850, 2, 3, 4, (6, 3), 1, (2, 1), 1),
)


def grouped(seed: int) -> Case:
    """A random grouped convolution, and bytes of SRAM."""
    random = Random(seed)
    groups, filters, channels = (random.choice(each) for each in ((2, 3, 4), (2, 3, 6), (2, 4, 8)))
    extent = random.randint(5, 12), random.randint(5, 12)
    kernel, strides = random.choice((1, 1, 3)), (random.randint(1, 2), random.randint(1, 2))
    sram, above = int(2 ** random.uniform(10, 14)), random.randrange(2)
    return sram, groups, filters, channels, extent, kernel, strides, above


CASES = [*FOUND, *map(grouped, range(3)), *map(grouped, range(3, 40))]


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=pytest.mark.slow) if n > 5 else each for n, each in enumerate(CASES)],
)
def test_same_as_onnxruntime(case: Case, tmp_path: Path) -> None:
    sram, groups, filters, channels, extent, kernel, strides, above = case
    rng = np.random.default_rng(sram)
    weights = {
        "w": rng.standard_normal((groups * filters, channels, kernel, kernel), np.float32),
        "b": rng.standard_normal(groups * filters, np.float32),
    }
    options: dict[str, Any] = {
        "strides": strides,
        "kernel_shape": (kernel, kernel),
        "pads": (above, 0, 0, 0),
    }
    node = helper.make_node("Conv", ["input", "w", "b"], ["y"], "c", group=groups, **options)
    shape = (1, groups * channels, *extent)
    model = model_of([node], weights, shape, "y")
    feeds = {"input": rng.standard_normal(shape, np.float32)}
    (wanted,) = run(model, dict(feeds))
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    try:
        found = compile_model(Job(path, machine_file(tmp_path, sram)))
    except DiagnosticException as error:
        if "bytes of SRAM at least" not in str(error):
            raise
        return
    (got,) = run_c(c_files(found), "net", [feeds["input"]], [wanted.shape])
    assert relative_error(got, wanted) <= RELATIVE
