"""Programs that the engine writes when it knows the addresses: no burst crosses a page.

Such a program is disassembled, and `pl330-check` accepts it: the rule of the checker for literal
addresses is the rule of the engine. A model in Python runs it, which moves what it has to move.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.pl330.engine import Cutter
from helpers.pl330.microcode import Machine, Memory
from helpers.pl330.tools import only
from npu_passes.pl330.check import violations_of
from npu_passes.pl330.controller import Controller
from npu_plans.transfers.bursts import AddressResidue, bursts_of
from npu_plans.transfers.pages import PAGE
from npu_plans.transfers.runs import RunAxis, Runs
from npu_tools.importers.pl330 import read_programs

DDR, OCM = 0x0010_0000, 0xF000_0000
MOST = 50_000
"""The most elements of a transfer."""


@pytest.fixture(scope="module")
def cutter(tmp_path_factory: pytest.TempPathFactory) -> Cutter:
    """The engine as a library."""
    return Cutter.build(tmp_path_factory.mktemp("cutter"))


@st.composite
def transfers(draw: st.DrawFn) -> Runs:
    """Runs along up to three axes, dense or apart on each side."""
    grid = draw(st.sampled_from((1, 2, 4, 4, 8, 8)))
    run = draw(st.one_of(st.integers(1, 60), st.integers(400, 3000))) * grid
    axes: list[RunAxis] = []
    target = source = run
    for _ in range(draw(st.integers(0, 3))):
        count = draw(st.one_of(st.integers(2, 9), st.integers(2, 40)))
        target += draw(st.sampled_from((0, 0, 0, 1, 7, 256))) * grid
        source += draw(st.sampled_from((0, 0, 1, 5, 512, -1))) * grid
        source += -source % PAGE if source % 3 == 0 and draw(st.booleans()) else 0
        axes.insert(0, RunAxis(count, max(target, run), max(source, run)))
        target, source = count * axes[0].target, count * axes[0].source
        if max(target, source) > 1 << 21 or Runs(run, tuple(axes)).total > MOST * grid:
            axes.pop(0)
            break
    return Runs(run, tuple(axes))


def addresses(runs: Runs, side: str) -> np.ndarray:
    """The offsets of all bytes that move on a side, in order."""
    found = np.arange(runs.bytes, dtype=np.int64)
    for axis in reversed(runs.axes):
        steps = np.arange(axis.count, dtype=np.int64) * getattr(axis, side)
        found = np.add.outer(steps, found).ravel()
    return found


def check(code: bytes, runs: Runs, target: int, source: int, channel: int) -> None:
    """Run a program; it moves what it must, and no burst crosses a page."""
    program = only(read_programs(code, "p"))
    assert violations_of(program, Controller()) == ()
    read, written = addresses(runs, "source"), addresses(runs, "target")
    before = np.random.default_rng(1).integers(0, 256, int(read.max()) + 1, np.uint8)
    after = np.zeros(int(written.max()) + 1, np.uint8)
    wanted = after.copy()
    wanted[written] = before[read]
    machine = Machine(
        Memory(source, bytearray(before.tobytes())), Memory(target, bytearray(after.tobytes()))
    )
    machine.run(code)
    np.testing.assert_array_equal(np.frombuffer(machine.target.data, np.uint8), wanted)
    assert machine.events == [channel]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    runs=transfers(),
    target=st.integers(0, 5000),
    source=st.integers(0, 5000),
    channel=st.integers(0, 7),
    longest=st.sampled_from((16, 16, 16, 1)),
)
@example(Runs(192000, ()), 8, 4088, 0, 16)
@example(Runs(52, (RunAxis(86, 2496, 786432), RunAxis(48, 52, 2048))), 16, 40, 1, 16)
def test_random_addresses(
    cutter: Cutter, runs: Runs, target: int, source: int, channel: int, longest: int
) -> None:
    code = cutter.program(runs, OCM + target, DDR + source, channel, longest)
    if code is not None:
        check(code, runs, OCM + target, DDR + source, channel)


@settings(max_examples=100, deadline=None)
@given(
    size=st.integers(1, 20000),
    count=st.integers(2, 5),
    target=st.integers(0, 1000).map(lambda number: 8 * number),
    source=st.integers(0, 1000).map(lambda number: 8 * number),
)
def test_cuts_what_crosses(cutter: Cutter, size: int, count: int, target: int, source: int) -> None:
    """The engine cuts if a burst crosses a page, and if it does not know, if a run does."""
    pitch = size + -size % 8
    runs = Runs(size, (RunAxis(count, pitch, pitch + 64),))
    places = AddressResidue(8, 0), AddressResidue(8, 0)
    bursts = bursts_of(size, *places, 8, 16)
    sizes = [each.size for each in bursts for _ in range(each.count)]
    crossing = any(
        (base + sum(sizes[:number])) // PAGE != (base + sum(sizes[: number + 1]) - 1) // PAGE
        for step in range(count)
        for base in (target + step * pitch, source + step * (pitch + 64))
        for number in range(len(sizes))
    )
    uniform = len(set(sizes)) == 1
    found = cutter.crosses(runs, OCM + target, DDR + source, sizes[0] if uniform else 0)
    assert found == crossing if uniform else found >= crossing
