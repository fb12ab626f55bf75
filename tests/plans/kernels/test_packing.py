"""Packed weights: read back in the order of the inner loops, they are the weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from npu_passes.lowering.kernels.depthwise import pack_taps
from npu_passes.lowering.kernels.planar_rows import in_blocks, pack_rows
from npu_plans.kernels.packing import (
    FILTERS,
    QUAD,
    Format,
    blocks_of,
    mixed_of,
    mixes,
    pack_runs,
    pixels_of_bytes,
    pixels_together,
    quad_size,
    quads_of,
)
from npu_plans.kernels.row_plan import weight_words

FORMATS: Sequence[Format] = get_args(Format)
COUNTS = st.integers(1, 9)


def random_weights(*shape: int) -> NDArray[np.int8]:
    """Random weights, with the least and the greatest one among them."""
    found = np.random.default_rng(sum(shape)).integers(-128, 128, shape).astype(np.int8)
    found.flat[0], found.flat[-1] = -128, 127
    return found


def low_half(word: int) -> int:
    """Bits 15 to 0, with their sign."""
    return (int(word) + (1 << 15)) % (1 << 16) - (1 << 15)


def high_half(word: int) -> int:
    """Bits 31 to 16, with their sign."""
    return int(word) >> 16


def byte_of(word: int, number: int) -> int:
    """Bits 8n to 8n + 7, with their sign."""
    return ((int(word) >> 8 * number) + 128) % 256 - 128


def quad_of(form: Format, packed: NDArray[Any], filters: int, filter: int) -> Iterator[int]:
    """The four weights of a filter in one quad of a block."""
    if form == "bytes":
        yield from (int(packed[k * filters + filter]) for k in range(QUAD))
    elif form == "narrow":
        yield from (byte_of(packed[filter], k) for k in range(QUAD))
    else:
        even, odd = packed[filter], packed[filters + filter]
        lower = 256 if form == "mixed" else 0
        yield low_half(even)
        yield low_half(odd) + lower * low_half(even)
        yield high_half(even)
        yield high_half(odd) + lower * high_half(even)


# -- runs ------------------------------------------------------------------------------------------


@given(st.integers(QUAD, 100))
def test_quads_cover_a_run(length: int) -> None:
    starts = quads_of(length)
    covered = {start + k for start in starts for k in range(QUAD)}
    assert covered == set(range(length))
    assert len(starts) == -(-length // QUAD)
    assert [start for start in starts[:-1] if start % QUAD] == []


@pytest.mark.parametrize("length", [0, 1, 3])
def test_short_runs_have_no_quads(length: int) -> None:
    with pytest.raises(ValueError, match=f"at least 4 bytes, got {length}"):
        quads_of(length)


@given(st.integers(1, 20))
def test_blocks_hold_each_filter_once(filters: int) -> None:
    found = [first + k for first, count in blocks_of(filters) for k in range(count)]
    assert found == list(range(filters))
    assert all(first % FILTERS == 0 and count <= FILTERS for first, count in blocks_of(filters))


@pytest.mark.parametrize(
    ("weights", "fits"),
    [
        ([-127, -128, -127, 127], True),
        ([-128, -1, 127, -128], True),
        ([-128, 0, 0, 0], False),
        ([0, 0, -128, 1], False),
        ([0, -128, 0, -128], True),
        ([0, 0, 0, 0, -128], True),
        ([0, 0, 0, 0, -128, 0], False),
        ([0, 0, 0, 0, 0, -128], True),
    ],
)
def test_which_weights_mix(weights: Sequence[int], fits: bool) -> None:
    """Only a least weight in an even place of its quad is too much, unless a negative one follows.

    In a last quad that overlaps, the place counts from its end.
    """
    assert mixes(np.array([[weights]], np.int8)) == fits


@given(st.lists(st.integers(-128, 127), min_size=4, max_size=4), st.binary(min_size=4, max_size=4))
def test_mixed_products(weights: Sequence[int], data: bytes) -> None:
    """Halves of the word as it is, and its odd bytes, give the products of its bytes."""
    quad = np.maximum(np.array([[weights]], np.int8), -127)
    ((first, second),) = mixed_of(quad)[..., 0]
    halves = np.frombuffer(data, "<i2").astype(int)
    odd = np.frombuffer(data, np.int8)[1::2].astype(int)
    found = halves @ [low_half(first), high_half(first)] + odd @ [
        low_half(second),
        high_half(second),
    ]
    even = np.frombuffer(data, np.uint8)[0::2].astype(int)
    assert found == even @ quad[0, 0, 0::2].astype(int) + odd @ quad[0, 0, 1::2].astype(int)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(FORMATS), COUNTS, st.integers(1, 4), st.integers(QUAD, 19))
def test_runs(form: Format, filters: int, runs: int, length: int) -> None:
    """At the places where a kernel reads, it meets each weight once."""
    weights = random_weights(filters, runs, length)
    if form == "mixed":
        weights = np.maximum(weights, -127)
    packed = pack_runs(weights, form)
    assert packed.dtype == (np.int8 if form == "bytes" else np.int32)
    starts, found, place = quads_of(length), np.zeros(weights.shape, int), 0
    for first, count in blocks_of(filters):
        size = quad_size(form, count)
        # A block begins where the filters before it would end.
        assert place == first * quad_size(form, 1) * len(starts) * runs
        for run in range(runs):
            for start in starts:
                part = packed[place : place + size]
                for filter in range(count):
                    quad = list(quad_of(form, part, count, filter))
                    found[first + filter, run, start : start + QUAD] += quad
                place += size
    assert place == packed.size
    np.testing.assert_array_equal(found, weights)


def test_words_of_a_known_run() -> None:
    weights = np.array([[[1, 2, 3, 4, -5]], [[6, 7, 8, 9, 10]]], np.int8)
    wide = pack_runs(weights, "wide")
    assert [f"{int(word) & 0xFFFFFFFF:08x}" for word in wide] == [
        *("00030001", "00080006", "00040002", "00090007"),
        *("00000000", "00000000", "fffb0000", "000a0000"),
    ]
    assert [int(word) & 0xFFFFFFFF for word in pack_runs(weights, "narrow")] == [
        *(0x04030201, 0x09080706, 0xFB000000, 0x0A000000)
    ]
    assert list(pack_runs(weights, "bytes")[:8]) == [1, 6, 2, 7, 3, 8, 4, 9]


# -- depthwise -------------------------------------------------------------------------------------


@given(
    st.sampled_from(("wide", "narrow", "bytes")),
    st.integers(4, 17),
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_taps(form: Format, channels: int, multiplier: int, taps: int) -> None:
    """Packed depthwise weights hold four channels, tap by tap, filter by filter."""
    weights = random_weights(channels, multiplier, taps)
    packed, size = pack_taps(weights, form), quad_size(form, 1)
    firsts = quads_of(channels)
    assert packed.size == len(firsts) * multiplier * taps * size
    places = product(firsts, range(multiplier), range(taps))
    for number, (first, filter, tap) in enumerate(places):
        quad = list(quad_of(form, packed[number * size : (number + 1) * size], 1, 0))
        np.testing.assert_array_equal(quad, weights[first : first + QUAD, filter, tap])


# -- rows of few channels --------------------------------------------------------------------------


@given(st.integers(1, 16))
def test_each_tap_is_in_one_half(taps: int) -> None:
    words = weight_words(taps)
    halves = [tap for word in words for tap in word if tap is not None]
    assert sorted(halves) == list(range(taps))
    assert all(high is None or high == low + 2 for low, high in words)
    assert len(words) <= taps // 2 + 2  # pairs come in twos: at most three taps are left


@settings(deadline=None)
@given(COUNTS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 7))
def test_rows(filters: int, channels: int, rows: int, taps: int) -> None:
    weights = random_weights(filters, channels, rows, taps)
    packed, words = pack_rows(weights), weight_words(taps)
    place = 0
    for first, count in blocks_of(filters):
        assert place == first * channels * rows * len(words)
        block = packed[place : place + count * channels * rows * len(words)]
        place += block.size
        shaped = block.reshape(channels, rows, len(words), count)
        for number, (low, high) in enumerate(words):
            there = weights[first : first + count]
            for index in np.ndindex(channels, rows, count):
                channel, row, filter = index
                word = int(shaped[channel, row, number, filter])
                wanted = 0 if high is None else there[filter, channel, row, high]
                assert low_half(word) == there[filter, channel, row, low]
                assert high_half(word) == wanted
    assert place == packed.size


@given(COUNTS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_blocks_of_elements(filters: int, channels: int, rows: int, taps: int) -> None:
    weights = random_weights(filters, channels, rows, taps)
    packed, place = in_blocks(weights), 0
    for first, count in blocks_of(filters):
        part = weights[first : first + count]
        found = packed[place : place + part.size].reshape(channels, rows, taps, count)
        np.testing.assert_array_equal(found.transpose(3, 0, 1, 2), part)
        place += part.size
    assert place == packed.size


@pytest.mark.parametrize(
    ("registers", "pixels"), [(0, 2), (8, 1), (13, 1), (14, 2), (31, 3), (64, 3)]
)
def test_pixels_that_a_core_has_registers_for(registers: int, pixels: int) -> None:
    assert pixels_of_bytes(registers) == pixels


@pytest.mark.parametrize(
    ("columns", "pixels"),
    [(0, 1), (1, 1), (2, 2), (3, 3), (4, 2), (5, 2), (6, 3), (7, 3), (125, 3)],
)
def test_pixels_for_the_fewest_loads(columns: int, pixels: int) -> None:
    """Of four columns, two pairs load as much as three pixels and a single one."""
    assert pixels_together(columns, 3) == pixels
    assert pixels_together(columns, 1) == 1
