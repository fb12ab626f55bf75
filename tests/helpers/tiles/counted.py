"""Runs functions on buffers in the interpreter, and counts what they move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike
from xdsl.dialects.builtin import ModuleOp

from helpers.quantized.build import Array
from helpers.tiles.chain import through
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.dma import Counters

PLACED = "npu-double-buffer,npu-assign-sram-offsets{strategy=greedy}"


def run(
    module: ModuleOp,
    shapes: Sequence[tuple[int, ...]],
    counters: Counters | None = None,
    kind: DTypeLike = np.float32,
) -> list[Array]:
    """All arguments behind the function, from small integers, whose sums are exact."""
    random = np.random.default_rng(3)
    values = [random.integers(-3, 4, shape).astype(kind) for shape in shapes]
    return list(run_function(module.clone(), None, values, counters=counters))


def counted(
    module: ModuleOp, shapes: Sequence[tuple[int, ...]], kind: DTypeLike = np.float32
) -> tuple[list[Array], Counters]:
    """What a function in tiles computes and moves; the same beside other steps, with offsets."""
    counters, again = Counters(), Counters()
    outputs = run(module, shapes, counters, kind)
    through(module, PLACED)
    for one, other in zip(outputs, run(module, shapes, again, kind), strict=True):
        np.testing.assert_array_equal(one, other)
    assert again == counters
    return outputs, counters


def moved_bytes(counters: Counters) -> int:
    """The bytes of maps and parameters that crossed the border."""
    maps = counters.feature_map_read_bytes + counters.feature_map_write_bytes
    return maps + counters.weight_bytes
