"""Cycles of one layer and of one transfer, from the numbers of a machine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from npu_dialect.machine import Machine
from npu_plans.time.rates import Rates, UnknownRate, missing_keys, says_time

TIMED = Machine(
    "mine",
    4096,
    0,
    clock_hz=1000,
    macs_per_cycle=(("i8", Fraction(1, 4)),),
    sram_bytes_per_cycle=Fraction(2),
)
WITH_DMA = replace(
    TIMED,
    dma_channels=1,
    dma_bytes_per_cycle=Fraction(3, 2),
    dma_setup_cycles=10,
    dma_jump_cycles=2,
)


def test_a_layer_takes_the_longer_of_arithmetic_and_traffic() -> None:
    rates = Rates.of(TIMED)
    assert rates.work(10, "i8", 6) == 40
    assert rates.work(10, "i8", 81) == 41
    assert rates.work(0, "f32", 3) == 2
    with pytest.raises(UnknownRate, match="there is no macs_per_cycle for f32"):
        rates.work(1, "f32", 1)


def test_a_transfer() -> None:
    rates = Rates.of(WITH_DMA)
    assert (rates.latency(1), rates.latency(4)) == (10, 16)
    assert (rates.data(3), rates.data(4)) == (2, 3)
    with pytest.raises(UnknownRate, match="there is no DMA engine"):
        Rates.of(TIMED).data(3)


@pytest.mark.parametrize("name", Machine.known())
def test_all_machines_that_ship_have_all_numbers(name: str) -> None:
    assert missing_keys(Machine.load(name)) == ()


@pytest.mark.parametrize(
    ("machine", "missing"),
    [
        (Machine("bare", 1, 0), ("clock_hz", "macs_per_cycle", "sram_bytes_per_cycle")),
        (replace(TIMED, clock_hz=0), ("clock_hz",)),
        (replace(TIMED, dma_channels=2), ("dma_bytes_per_cycle", "dma_setup_cycles")),
        (replace(WITH_DMA, dma_jump_cycles=0), ()),
    ],
)
def test_what_is_missing(machine: Machine, missing: tuple[str, ...]) -> None:
    assert missing_keys(machine) == missing
    assert says_time(machine) == (machine.name != "bare")
    if missing:
        with pytest.raises(UnknownRate, match=f"has no {', '.join(missing)}$"):
            Rates.of(machine)
