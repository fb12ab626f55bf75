"""Runs the emitted C of some trips, in several builds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.c_harness import run_c
from helpers.zero_blocks.trips import Array, Trip, program, total
from npu_dialect.interpreters import Counters
from npu_passes.emit.c import emit

BUILDS = {
    # The strict engine poisons targets until the wait, and counts before it moves; the sanitizers
    # check every byte.
    "strict": ("c", True, ()),
    "c++": ("c++", True, ()),
    # The engine as shipped tests and moves blocks at once.
    "plain": ("c", False, ("-UNPU_DMA_STRICT", "-O2")),
    "small": ("c", False, ("-UNPU_DMA_STRICT", "-Os")),
}


def run(cases: Sequence[Trip], build: str) -> tuple[list[Array], Counters]:
    """The emitted C."""
    language, sanitize, flags = BUILDS[build]
    counters = Counters()
    results = run_c(
        emit(program(cases)),
        "k",
        [trip.array() for trip in cases],
        [shape for trip in cases for shape in (trip.shape, trip.part_shape)],
        output_types=[trip.dtype.name for trip in cases for _ in range(2)],
        counters=counters,
        language=language,
        sanitize=sanitize,
        flags=flags,
    )
    return results, counters


def check(cases: Sequence[Trip], results: Sequence[Array], counters: Counters) -> None:
    """Check that the maps and their parts come back, and that the account has the same bytes."""
    for number, trip in enumerate(cases):
        whole, part = results[2 * number : 2 * number + 2]
        np.testing.assert_array_equal(whole, trip.array())
        np.testing.assert_array_equal(part, trip.part(trip.array()))
    assert counters == total(cases)
