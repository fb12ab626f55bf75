"""The checker accepts a plan if, and only if, the program computes what it should.

Buffers are moved to offsets where they overlap others. The interpreter computes with the bytes that
are really there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.pipeline import context, parse
from helpers.shadow.moved import entry, moved, offsets, results, same
from helpers.shadow.networks import lowered
from helpers.shadow.programs import ROWS, RUNS, pointwise
from npu_dialect.attributes import ARENA
from npu_dialect.interpreters import Signature, find_function
from npu_tools.shadow import check


@pytest.mark.parametrize(("index", "first"), [(1, 0), (2, 32)], ids=["output", "ring"])
def test_every_offset_of_rows(index: int, first: int) -> None:
    """An output may overwrite rows that are not read again, and no others."""
    module = parse(context(), ROWS)
    image = np.random.default_rng(0).integers(-128, 128, (10, 4)).astype(np.int8)
    expected, accepted = results(module, [image]), 0
    for offset in range(first, 54):
        other = moved(module, index, offset)
        is_right = not check(other)
        assert is_right == same(results(other, [image]), expected), offset
        accepted += is_right
    assert 0 < accepted < 20


@pytest.mark.parametrize(
    ("order", "filters", "overlaid"),
    [("fp", 2, []), ("pf", 2, []), ("pf", 1, [0, 5, 10])],
)
def test_every_offset_of_an_output(order: str, filters: int, overlaid: list[int]) -> None:
    """An output in the place of an input, in one loop nest that may read a pixel many times."""
    module = parse(context(), pointwise(order, filters))
    image = np.random.default_rng(0).integers(-128, 128, (3, 5)).astype(np.int8)
    expected = results(module, [image])
    accepted: list[int] = []
    for offset in range(20):
        other = moved(module, 1, offset)
        is_right = not check(other)
        assert is_right == same(results(other, [image]), expected), offset
        accepted += [offset] * is_right
    assert accepted == [*overlaid, *range(15, 20)]


def test_every_offset_of_runs() -> None:
    """A row of the output may overwrite rows of the image that no later one reads."""
    module = parse(context(), RUNS)
    image = np.random.default_rng(0).integers(-128, 128, (64,)).astype(np.int8)
    expected = results(module, [image])
    accepted: list[int] = []
    for offset in range(0, 68, 4):
        other = moved(module, 1, offset)
        is_right = not check(other)
        assert is_right == same(results(other, [image]), expected), offset
        accepted += [offset] * is_right
    assert accepted == [0, 4, 8, 12, 64]


@pytest.mark.parametrize("seed", [2, 6, 16])
def test_moved_buffers(seed: int, tmp_path: Path) -> None:
    """Lowered networks with a buffer somewhere else."""
    module = lowered(tmp_path, seed, "default")
    arena = ARENA.get(entry(module))
    assert arena is not None
    generator = np.random.default_rng(seed)
    ports = Signature.of(find_function(module, None)).inputs
    inputs = [port.random(generator) for port in ports]
    expected, accepted = results(module, inputs), 0
    for _ in range(6):
        index = int(generator.integers(len(offsets(module))))
        other = moved(module, index, 4 * int(generator.integers(arena // 4)))
        is_right = not check(other)
        assert is_right == same(results(other, inputs), expected), index
        accepted += is_right
    assert accepted < 6
