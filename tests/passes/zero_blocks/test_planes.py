"""Maps as bit planes: interpreter, emitted C and an account by hand move the same bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from helpers.zero_blocks.builds import BUILDS, check, run
from helpers.zero_blocks.planar import RAW, RUN, code_of, planar_bytes
from helpers.zero_blocks.trips import Trip, planar_trips, program
from npu_dialect.dma import index_bytes
from npu_dialect.interpreters import Counters, run_function
from npu_dialect.interpreters.planes import codes, plane_bytes
from npu_passes.emit.c.off_chip import runtime
from npu_passes.support.block_runs import BlockRuns

FEW = settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-128, 127), min_size=1, max_size=40),
    st.sampled_from([0, -128]),
)
def test_codes(values: list[int], zero: int) -> None:
    """The codes in numpy are those of one element at a time."""
    array = np.array(values, np.int8)[np.newaxis, np.newaxis, np.newaxis]
    runs = [values[at : at + RUN] for at in range(0, len(values), RUN)]
    by_hand = [code_of(each, zero) for each in runs]
    assert codes(array, zero).ravel().tolist() == [code for code, _ in by_hand]
    assert plane_bytes(array, zero) == sum(size for _, size in by_hand)


def test_codes_of_known_runs() -> None:
    """Empty, small, signed, and full runs; a short run whose planes have as many bytes."""
    for values, zero, code, size in (
        ([-128] * 16, -128, 0, 0),
        ([-127] * 16, -128, 1, 2),
        ([0] * 15 + [63], 0, 6, 12),
        ([0] * 15 + [-1], 0, RAW + 1, 2),
        ([0] * 15 + [-64], 0, RAW + 7, 14),
        ([0] * 15 + [-65], 0, RAW, 16),
        ([0] * 6 + [63], 0, 6, 6),
        ([0] * 6 + [64], 0, RAW, 7),
        ([1], 0, RAW, 1),
    ):
        assert code_of(values, zero) == (code, size)
        array = np.array(values, np.int8)[np.newaxis, np.newaxis, np.newaxis]
        assert codes(array, zero).ravel().tolist() == [code]


@settings(max_examples=25, deadline=None)
@given(planar_trips())
def test_interpreter(trip: Trip) -> None:
    counters = Counters()
    check([trip], run_function(program([trip]), None, [trip.array()], counters), counters)


@pytest.mark.parametrize("build", [pytest.param("strict", marks=pytest.mark.slow), "plain"])
@FEW
@given(cases=st.lists(planar_trips(), min_size=2, max_size=6))
def test_emitted_c(build: str, cases: list[Trip]) -> None:
    results, counters = run(cases, build)
    check(cases, results, counters)


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_every_length_of_a_run(build: str) -> None:
    """Rows of 1 to 33 elements, and parts that cut runs on both sides."""
    cases = [
        Trip((1, 3, 19, width), "i8", RUN, zero, 0.2, (2, width // 3, 15, width // 2 or 1), True)
        for width in range(1, 34)
        for zero in (0, -128)
    ]
    results, counters = run(cases, build)
    check(cases, results, counters)


@given(planar_trips())
def test_the_most_that_a_part_moves(trip: Trip) -> None:
    """The bound of the report holds wherever a part lies, and is exact for a whole map."""
    strides = (0, 0, 0, 0)
    runs = BlockRuns(1, RUN, 0, trip.shape, trip.part_shape, strides, strides, planes=True)
    array = np.full(trip.shape, 127, np.int8)
    array[..., ::2] = -127
    moved = planar_bytes(array, 0, trip.box)
    assert moved <= int(np.prod(trip.part_shape)) + runs.worst
    whole = BlockRuns(1, RUN, 0, trip.shape, trip.shape, strides, strides, planes=True)
    assert whole.worst == index_bytes(trip.shape, RUN, planes=True)


GUARDED = """
#define NPU_DMA_PLANES
#include "npu_dma.h"
#include <stdio.h>
#include <stdlib.h>

/* Decodes runs by every code, also those that the coder never writes, within memory of its own. */
int main(void)
{
    for (size_t n = 1; n <= 16; ++n) {
        const npu_dma_blocks blocks = {1, 16, 0, {1, 1, 1, n}, {1, 1, 1, n}, {n, n, n, 1},
                                       {n, n, n, 1}, 1};
        unsigned char *const map = malloc(n), *const chip = malloc(n), *const index = malloc(1);
        memset(map, 0x5A, n);
        for (unsigned code = 0; code < 256; ++code) {
            index[0] = (unsigned char)code;
            if (npu_dma_move(&blocks, 0, chip, map, map, index, 1) > 1 + n) {
                return 2;
            }
        }
        free(map);
        free(chip);
        free(index);
    }
    puts("inside");
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_a_corrupt_index_stays_within_its_runs(tmp_path: Path) -> None:
    """Whatever an index says, nothing is read or written outside of a run, nor more is counted."""
    (tmp_path / "npu_dma.h").write_text(runtime())
    (tmp_path / "main.c").write_text(GUARDED)
    flags = ["-std=c99", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = ["cc", *flags, "-o", str(tmp_path / "main"), str(tmp_path / "main.c")]
    subprocess.run(built, check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "inside\n"), done.stderr
