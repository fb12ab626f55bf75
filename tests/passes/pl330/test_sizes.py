"""Programs of transfers are never larger than the paper's, and small where loops can be rolled."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.transfers.bursts import AddressResidue, Bursts, bursts_of
from npu_plans.transfers.runs import RunAxis, Runs
from npu_plans.transfers.template import END, MOV, template_bytes
from npu_plans.transfers.transfer_code import transfer_code

ALIGNED = AddressResidue(8, 0)


def sizes(
    runs: Runs, source: AddressResidue = ALIGNED, target: AddressResidue = ALIGNED
) -> tuple[int, int]:
    """Bytes of our program, and of the paper's."""
    source = source.steps(axis.source for axis in runs.axes)
    target = target.steps(axis.target for axis in runs.axes)
    ours = sum(each.size for each in transfer_code(runs, source, target))
    return 2 * MOV + ours + END, template_bytes(runs, bursts_of(runs.bytes, source, target, 8, 16))


@st.composite
def tiles(draw: st.DrawFn) -> Runs:
    """A tile of a map: rows and channels lie apart in DDR, and contiguous on the chip."""
    element = draw(st.sampled_from([1, 4]))
    columns, rows, channels = (draw(st.integers(1, most)) for most in (300, 60, 40))
    width = columns + draw(st.integers(0, 400))
    height = rows + draw(st.integers(0, 400))
    run = columns * element
    rows_apart = RunAxis(rows, run, width * element)
    channels_apart = RunAxis(channels, rows * run, width * height * element)
    return Runs(run, tuple(axis for axis in (channels_apart, rows_apart) if axis.count > 1))


@settings(max_examples=50, deadline=None)
@given(runs=tiles())
def test_never_larger(runs: Runs) -> None:
    ours, theirs = sizes(runs)
    assert ours <= theirs


@pytest.mark.parametrize("channels", [8, 16, 64])
@pytest.mark.parametrize("rows", [2, 10, 50])
@pytest.mark.parametrize("columns", [8, 32, 64, 128])
def test_rolled_is_a_quarter(channels: int, rows: int, columns: int) -> None:
    """On maps of 384 x 512 floats the paper's programs grow with the channels, ours do not."""
    run = 4 * columns
    runs = Runs(run, (RunAxis(channels, rows * run, 384 * 2048), RunAxis(rows, run, 2048)))
    ours, theirs = sizes(runs)
    assert 4 * ours <= theirs


@pytest.mark.parametrize(
    ("size", "source", "target", "expected"),
    [
        (128, (8, 0), (8, 0), [(8, 16, 1)]),
        (8, (8, 0), (8, 0), [(8, 1, 1)]),
        (132, (8, 0), (8, 0), [(8, 16, 1), (4, 1, 1)]),
        (132, (8, 4), (8, 4), [(4, 1, 1), (8, 16, 1)]),
        (132, (8, 0), (8, 4), [(4, 11, 3)]),
        (12, (8, 4), (8, 4), [(4, 3, 1)]),
        (2048, (8, 0), (8, 0), [(8, 16, 16)]),
        (192, (8, 0), (8, 0), [(8, 12, 2)]),
        (237, (1, 0), (8, 0), [(1, 16, 14), (1, 13, 1)]),
        (5, (8, 3), (8, 3), [(1, 5, 1)]),
        (31, (8, 5), (8, 5), [(1, 3, 1), (4, 7, 1)]),
    ],
)
def test_bursts(
    size: int,
    source: tuple[int, int],
    target: tuple[int, int],
    expected: list[tuple[int, int, int]],
) -> None:
    found = bursts_of(size, AddressResidue(*source), AddressResidue(*target), 8, 16)
    assert [(each.beat, each.beats, each.count) for each in found] == expected


def test_one_side_is_wider() -> None:
    """Each side has beats as wide as its alignment allows, if they divide the bytes."""
    (found,) = bursts_of(128, ALIGNED, AddressResidue(8, 4), 8, 16)
    assert (found, found.sides) == (Bursts(4, 16, 2, 8, 0), (8, 4))
    (found,) = bursts_of(48, AddressResidue(1, 0), AddressResidue(4, 0), 8, 16)
    assert (found.size, found.count, found.sides) == (16, 3, (1, 4))
    (found,) = bursts_of(132, ALIGNED, AddressResidue(8, 4), 8, 16)
    assert found.sides == (4, 4)
