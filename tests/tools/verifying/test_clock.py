"""The emitted C on the virtual clock takes the cycles of the report."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import TINY, build
from npu_tools.commands import compile
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.clock import ClockCheck, check_clock

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")


def clock_of(model: Path, target: str) -> tuple[ClockCheck | None, Compiled]:
    found = compile_model(Job(model, target, clock=True))
    return check_clock(found), found


def test_cycles_of_a_small_network(small: Path) -> None:
    check, found = clock_of(small, "zynq7020")
    assert check is not None
    assert check.complaint is None
    assert found.report.time is not None
    assert sum(check.counted) == found.report.time["cycles"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "options", "kilobytes"),
    [
        ("inception_small", {}, 1024),
        ("resnet18", {"width": 1 / 4, "size": (64, 64), "classes": 10}, 64),
        ("nasnet_a", TINY["nasnet_a"], 12),
    ],
)
def test_cycles_of_networks_with_tiles_and_rows(
    network: str, options: dict[str, Any], kilobytes: int, tmp_path: Path
) -> None:
    model = tmp_path / f"{network}.onnx"
    model.write_bytes(build(network, **options).SerializeToString())
    check, _ = clock_of(model, machine_file(tmp_path, kilobytes * KB))
    assert check is not None
    assert check.complaint is None
    assert min(check.counted) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("channels", "rate"), [(1, "2.5"), (3, "0.375")])
def test_cycles_on_other_machines(channels: int, rate: str, tmp_path: Path) -> None:
    """Rates that are fractions, many jumps, and more transfers than channels."""
    model, machine = tmp_path / "net.onnx", tmp_path / "mine.toml"
    model.write_bytes(build("inception_small").SerializeToString())
    text = (resources.files("npu_dialect.targets") / "exynos-npu.toml").read_text(encoding="utf-8")
    for key, value in {
        "dma_channels": str(channels),
        "dma_bytes_per_cycle": rate,
        "dma_jump_cycles": "7",
        "sram_bytes": "65536",
    }.items():
        text, count = re.subn(rf"(?m)^{key} = \S+", f"{key} = {value}", text)
        assert count == 1
    machine.write_text(text, encoding="utf-8")
    check, _ = clock_of(model, str(machine))
    assert check is not None
    assert check.complaint is None


def test_the_c_that_is_written_has_no_marks(small: Path) -> None:
    """With the clock or without it, the files are the same, byte by byte."""
    _, with_clock = clock_of(small, "zynq7020")
    without = compile_model(Job(small, "zynq7020"))
    assert with_clock.files == without.files
    assert with_clock.clocked is not None
    assert "npu_dma_work(dma, " in with_clock.clocked.source


def test_what_verify_says(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "zynq7020", "-o", str(out), "--verify"]
    assert compile.main(run) == 0
    report = json.loads((out / "report.json").read_text())
    cycles = report["time"]["cycles"]
    assert f"verify: takes the cycles that the report says: {cycles}\n" in capsys.readouterr().out
    assert report["verify"]["cycles"] == cycles


@pytest.mark.slow
def test_other_cycles_than_the_report_says(small: Path) -> None:
    _, found = clock_of(small, "zynq7020")
    assert found.report.time is not None
    time = {**found.report.time, "exposed_cycles": 7}
    check = check_clock(replace(found, report=replace(found.report, time=time)))
    assert check is not None
    assert check.complaint is not None
    assert f"waited for {check.counted[1]}, report.json says {check.counted[0]} and 7" in (
        check.complaint
    )


def test_a_machine_without_dma_has_no_clock(small: Path) -> None:
    assert clock_of(small, "fe310")[0] is None


def test_a_program_that_is_not_counted_has_no_clock(small: Path) -> None:
    """The machine's file has no number of time: there is nothing to compare, and no error."""
    path = small.parent / "mine.toml"
    path.write_text('name = "m"\nsram_bytes = 65536\nflash_bytes = 1048576\ndma_channels = 2\n')
    check, found = clock_of(small, str(path))
    assert check is None
    assert found.clocked is None
