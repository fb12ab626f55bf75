"""The chunks of long runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.chunks import MOST_SHARED, REACH, Chunks
from npu_plans.kernels.gathers import BYTES

APART = st.sampled_from((0, 8, 16, 24, 32, 40, 48))


@given(st.integers(1, 60), APART)
def test_chunks_cover_a_run_within_reach(vectors: int, apart: int) -> None:
    """Each vector of the run is loaded once, near the pointer of its chunk."""
    chunks, found = Chunks(BYTES * vectors, apart), list[int]()
    for first in range(0, chunks.length, chunks.size):
        end = min(first + chunks.size, chunks.length)
        assert end <= chunks.whole or first == chunks.whole
        found += range(first, end, BYTES)
        assert end - first + chunks.shared <= REACH
    assert found == [*range(0, chunks.length, BYTES)]
    assert chunks.whole % chunks.size == 0


@given(st.integers(1, 60), APART)
def test_chunks_are_as_long_as_their_reach_allows(vectors: int, apart: int) -> None:
    chunks = Chunks(BYTES * vectors, apart)
    assert chunks.size + chunks.shared == REACH
    shares = apart % BYTES == 0 and 0 < apart <= MOST_SHARED and apart < chunks.length
    assert chunks.shared == (apart if shares else 0)


def test_which_pixels_share_vectors() -> None:
    assert Chunks(48, 16).shared == 16
    assert Chunks(96, 32).shared == 32
    assert Chunks(96, 48).shared == 0
    assert Chunks(96, 24).shared == 0
    assert Chunks(32, 32).shared == 0
    assert Chunks(48, 0).shared == 0
