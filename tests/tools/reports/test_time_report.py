"""The key `time` of report.json, its table, and the timeline, on a small network."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from npu_dialect.machine import Machine
from npu_plans.time.simulate import Cycles
from npu_tools.commands import compile
from npu_tools.pictures import timeline
from npu_tools.reports.time_report import energy_of

ZYNQ = Machine.load("zynq7020")


def report_of(model: Path, target: str, *options: str) -> dict[str, Any]:
    out = model.parent / "out"
    assert compile.main([str(model), "--target", target, "-o", str(out), *options]) == 0
    return json.loads((out / "report.json").read_text())


def machine_file(folder: Path, name: str, **changes: str) -> str:
    """A copy of a machine's file with other lines; an empty text drops the line."""
    lines = (resources.files("npu_dialect.targets") / f"{name}.toml").read_text().splitlines()
    for key, line in changes.items():
        (at,) = [i for i, each in enumerate(lines) if each.startswith(f"{key} ")]
        lines[at] = line
    path = folder / "changed.toml"
    path.write_text("\n".join(lines))
    return str(path)


def test_the_whole_run_is_the_sum_of_its_layers(small: Path) -> None:
    report = report_of(small, "zynq7020")
    time = report["time"]
    assert time["cycles"] == time["compute_cycles"] + time["exposed_cycles"]
    summed = ("cycles", "compute_cycles", "transfer_cycles", "bus_cycles", "exposed_cycles")
    for key in (*summed, "transfers", "transferred_bytes", "exposed_bytes", "bare_bytes", "macs"):
        assert time[key] == sum(layer[key] for layer in time["layers"]), key
    moved = report["off_chip"]
    assert time["transferred_bytes"] == sum(
        moved[f"{what}_bytes"] for what in ("weight", "feature_map_read", "feature_map_write")
    )
    assert time["macs"] == sum(layer["macs"] for layer in report["layers"])
    assert time["frames_per_second"] == ZYNQ.clock_hz / time["cycles"]
    total = sum(layer["energy_pj"]["total"] for layer in time["layers"])
    assert time["energy_pj"]["total"] == pytest.approx(total)


def test_without_dma_nothing_waits(small: Path) -> None:
    time = report_of(small, "fe310")["time"]
    assert time["cycles"] == time["compute_cycles"] > 0
    assert (time["transfers"], time["exposed_cycles"]) == (0, 0)
    assert "operations_per_byte" not in time
    conv = next(layer for layer in time["layers"] if layer["name"] == "conv1")
    rates = dict(Machine.load("fe310").macs_per_cycle)
    assert conv["compute_cycles"] == conv["macs"] / rates["f32"]


def test_roofline(small: Path) -> None:
    time = report_of(small, "zynq7020")["time"]
    conv = next(layer for layer in time["layers"] if layer["name"] == "conv1")
    assert conv["operations_per_byte"] == 2 * conv["macs"] / conv["transferred_bytes"]
    ridge = 2 * dict(ZYNQ.macs_per_cycle)["f32"] / ZYNQ.dma_bytes_per_cycle
    assert conv["ridge_operations_per_byte"] == ridge


def test_the_table(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    time = report_of(small, "zynq7020")["time"]
    said = capsys.readouterr().out
    share = f"{100 * time['exposed_cycles'] / time['cycles']:.1f}"
    assert re.search(rf"waiting for transfers +{time['exposed_cycles']} +{share}\n", said)
    assert re.search(rf"all +{time['cycles']} +100.0\n", said)
    assert f"{time['frames_per_second']:.6g} frames a second at 667 MHz" in said


def test_a_machine_without_numbers_of_time(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small.parent / "bare.toml"
    path.write_text('name = "bare"\nsram_bytes = 16384\nflash_bytes = 1048576\n')
    assert "time" not in report_of(small, str(path))
    assert "frames" not in capsys.readouterr().out


def test_a_file_with_half_of_the_numbers_gives_no_cycles(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = machine_file(small.parent, "zynq7020", clock_hz="", sram_bytes_per_cycle="")
    reason = "zynq7020 has no clock_hz, sram_bytes_per_cycle"
    assert report_of(small, target)["time"] == {"not_timed": reason}
    assert f"time on zynq7020: not counted: {reason}\n" in capsys.readouterr().out


def test_without_energies_there_are_cycles(small: Path) -> None:
    time = report_of(small, machine_file(small.parent, "zynq7020", dram_byte_pj=""))["time"]
    assert time["cycles"] > 0
    assert time["energy_pj"] is None


def test_energy() -> None:
    machine = Machine(
        "m",
        1,
        0,
        mac_pj=(("i8", Fraction(1, 2)),),
        sram_byte_pj=Fraction(3),
        dram_byte_pj=Fraction(100),
    )
    cycles = Cycles(bytes=10, macs=4, on_chip_bytes=20)
    parts = {"macs": 2.0, "on_chip": 90.0, "off_chip": 1000.0, "total": 1092.0}
    assert energy_of(cycles, machine, {"i8"}) == parts
    assert energy_of(cycles, machine, {"f32"}) is None
    assert energy_of(cycles, machine, {"i8", "f32"}) is None


def test_timeline(small: Path) -> None:
    path = small.parent / "trace.json"
    time = report_of(small, "zynq7020", "--timeline", str(path))["time"]
    events = json.loads(path.read_text())["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    spent = {
        kind: sum(event["args"]["cycles"] for event in bars if event["cat"] == kind)
        for kind in ("work", "wait")
    }
    assert spent == {"work": time["compute_cycles"], "wait": time["exposed_cycles"]}
    core = [event for event in bars if event["tid"] == 0]
    assert max(event["ts"] + event["dur"] for event in core) == pytest.approx(
        1e6 * time["cycles"] / ZYNQ.clock_hz
    )
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {"bytes in flight", "arena in use"}
    flight = [each["args"]["bytes"] for each in events if each["name"] == "bytes in flight"]
    assert min(flight) == flight[-1] == 0
    names = [each["args"]["name"] for each in events if each["name"] == "thread_name"]
    assert names == ["core", *(f"DMA channel {n}" for n in range(ZYNQ.dma_channels))]


def test_the_arena_in_use_reaches_the_arena(small: Path) -> None:
    path = small.parent / "trace.json"
    report = report_of(small, "zynq7020", "--timeline", str(path))
    events = json.loads(path.read_text())["traceEvents"]
    used = [each["args"]["bytes"] for each in events if each["name"] == "arena in use"]
    assert max(used) == report["memory"]["live_bound_bytes"] <= report["arena_bytes"]


def test_a_timeline_needs_cycles(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small.parent / "trace.json"
    target = machine_file(small.parent, "zynq7020", clock_hz="")
    run = [str(small), "-o", str(small.parent / "out"), "--timeline", str(path), "--target"]
    assert compile.main([*run, target]) == 1
    assert "--timeline: no cycles: zynq7020 has no clock_hz" in capsys.readouterr().err
    monkeypatch.setattr(timeline, "MOST_EVENTS", 3)
    assert compile.main([*run, "zynq7020"]) == 1
    assert "--timeline: there are more than 3 events" in capsys.readouterr().err
    assert not path.exists()
