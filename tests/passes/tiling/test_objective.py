"""Tiles by time: bytes may rise, cycles fall."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from helpers.paths import LENET5
from helpers.tiles.chain import PLACES, chain
from helpers.tiles.flownet_s import square
from npu_dialect.machine import Machine
from npu_passes.analysis.timed_program import read_program
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, simulate, total_of
from npu_tools.commands.compile import main

MACHINE = Machine(
    "m",
    4096,
    0,
    dma_channels=4,
    clock_hz=1000,
    macs_per_cycle=(("f32", Fraction(64)),),
    dma_bytes_per_cycle=Fraction(16),
    sram_bytes_per_cycle=Fraction(256),
    dma_setup_cycles=100,
    dma_jump_cycles=8,
)


def cycles_of(module: ModuleOp, machine: Machine) -> Cycles:
    """The cycles of the only function."""
    rates = Rates.of(machine)
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    return total_of(simulate(read_program(function, rates).body, rates))


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("channels", [8, 24])
def test_bytes_rise_and_cycles_fall(kernel: int, channels: int) -> None:
    machine = replace(MACHINE, sram_bytes=3 * channels * channels * kernel * kernel + 8192)
    layer = square("conv", 24, 32, channels, channels, kernel, 2)
    fewest, fastest = (
        cycles_of(chain([layer], machine, f"npu-tile-loops{{minimize={how}}},{PLACES}"), machine)
        for how in ("bytes", "time")
    )
    assert fastest.bytes >= fewest.bytes
    assert fastest.total <= fewest.total


@pytest.mark.parametrize(("rows", "extra"), [(24, 4096), (16, 8192)])
def test_more_bytes_in_two_thirds_of_the_time(rows: int, extra: int) -> None:
    """The tiles with the fewest bytes are not where the search for the fastest ones ends."""
    machine = replace(MACHINE, sram_bytes=3 * 8 * 8 * 9 + extra)
    layer = square("conv", rows, 32, 8, 8, 3, 1)
    fewest, fastest = (
        cycles_of(chain([layer], machine, f"npu-tile-loops{{minimize={how}}},{PLACES}"), machine)
        for how in ("bytes", "time")
    )
    assert fastest.bytes > fewest.bytes
    assert 3 * fastest.total < 2 * fewest.total


ELEMENTS = "[1, 8, 12, 16] [1, 1, 2, 2]"
ROWS = "[1, 8, 12, 31] [1, 1, 2, 1]"


@pytest.mark.parametrize(
    ("how", "macs", "bus", "view"),
    [
        ("bytes", Fraction(2), 16, ELEMENTS),  # 6144 cycles of the core, 3072 of jumps
        ("bytes", Fraction(21, 10), 16, ROWS),
        ("bytes", Fraction(64), 16, ROWS),
        ("time", Fraction(2), 16, ROWS),
        # A jump takes no longer than the 4 bytes of a gap.
        ("time", Fraction(2), Fraction(1, 2), ELEMENTS),
    ],
)
def test_elements_or_rows_of_a_1x1_convolution_with_a_stride(
    how: str, macs: Fraction, bus: Fraction, view: str
) -> None:
    """Elements move the fewest bytes, rows where jumps would take half as long as the core."""
    machine = replace(MACHINE, sram_bytes=9000, macs_per_cycle=(("f32", macs),))
    machine = replace(machine, dma_bytes_per_cycle=Fraction(bus))
    layer = square("conv", 24, 32, 8, 8, 1, 2)
    module = chain([layer], machine, f"npu-tile-loops{{minimize={how}}},{PLACES}")
    assert view in str(module)


@pytest.mark.parametrize("channels", [8, 24])
def test_rows_take_less_than_half_of_the_time_of_elements(channels: int) -> None:
    """Tiles that were chosen for a slow core pick elements; all run on the same machine."""
    machine = replace(MACHINE, sram_bytes=3 * channels * channels + 8192)
    slow = replace(machine, macs_per_cycle=(("f32", Fraction(1)),))
    layer = square("conv", 24, 32, channels, channels, 1, 2)
    elements, rows, fastest = (
        cycles_of(chain([layer], told, f"npu-tile-loops{{minimize={how}}},{PLACES}"), machine)
        for told, how in ((slow, "bytes"), (machine, "bytes"), (machine, "time"))
    )
    assert min(rows.bytes, fastest.bytes) > elements.bytes
    assert max(rows.total, fastest.total) < 0.5 * elements.total


def test_without_times_bytes_decide() -> None:
    machine = replace(MACHINE, dma_bytes_per_cycle=Fraction(), clock_hz=0)
    layer = square("conv", 24, 32, 8, 8, 1, 2)
    one, two = (
        chain([layer], machine, f"npu-tile-loops{{minimize={how}}}") for how in ("bytes", "time")
    )
    assert str(one) == str(two)


@pytest.mark.parametrize(
    ("target", "objective", "message"),
    [
        ("host", "time", "expected npu-tile-loops for the options that were given"),
        ("zynq7020", "speed", "expected one of cost, bytes, time, got 'speed'"),
    ],
)
def test_one_diagnostic(
    target: str, objective: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = [str(LENET5), "--target", target, "--objective", objective, "-o", str(out)]
    assert main(command) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()
