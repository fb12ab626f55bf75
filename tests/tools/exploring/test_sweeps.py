"""Sweeps in this process: rows as npu-compile reports them, each computed once, kept in a store."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.machine import Machine
from npu_tools.commands import compile as compile_command
from npu_tools.commands import explore as command
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.exploring.api import explore
from npu_tools.exploring.columns import row_of
from npu_tools.exploring.engine import run
from npu_tools.exploring.evaluating import Outcome, Stranger, evaluate, outcome
from npu_tools.exploring.packages import package
from npu_tools.exploring.points import Point, compiler, imported, toml_of
from npu_tools.exploring.pools import Here
from npu_tools.exploring.store import Store
from npu_tools.exploring.watching import Seen
from npu_tools.shared.errors import UserError, describe

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("distributed")

SPACE = ["sram_bytes=600,4K", "dma_bytes_per_cycle=2,4"]


def test_rows_are_those_of_npu_compile(lenet5: Path, target: str) -> None:
    rows = explore(lenet5, SPACE, "cycles,sram_bytes", target=target, plan_as="i8", jobs=0)
    assert len(rows) == 2 * 2
    assert rows["key"].is_unique
    machine = lenet5.parent / "one.toml"
    for _, row in rows[rows.dma_bytes_per_cycle == 4].iterrows():
        changes = {"sram_bytes": int(row.sram_bytes), "dma_bytes_per_cycle": 4}
        text = Path(target).read_text().splitlines()
        kept = [line for line in text if line.partition(" ")[0] not in changes]
        machine.write_text("\n".join((*kept, *(f"{k} = {v}" for k, v in changes.items()))))
        job = Job(lenet5, str(machine), plan_as="i8")
        if row.status == "failed":
            with pytest.raises(DiagnosticException) as error:
                compile_model(job)
            assert describe(error.value) == row.diagnostic
            continue
        report = compile_model(job).report
        assert row.arena_bytes == report.arena_bytes
        assert row.weights_bytes == report.weights_bytes
        assert row["off_chip.bytes"] == report.off_chip.overall_bytes
        assert report.time is not None
        assert row.cycles == report.time["cycles"]
        assert row.energy_pj == report.time["energy_pj"]["total"]
    best = rows[rows.front]
    assert best.cycles.min() == rows.cycles.min()
    assert best.sram_bytes.min() == rows[rows.status == "ok"].sram_bytes.min()


def points(lenet5: Path, target: str, sizes: Sequence[int], **options: Any) -> list[Point]:
    job = Job(lenet5, target, plan_as="i8", **options)
    digest = imported(job)[1]
    return [Point(job, Machine.load(target, {"sram_bytes": size}), digest) for size in sizes]


def test_sizes_above_the_floor_are_not_computed(lenet5: Path, target: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    counts = run(points(lenet5, target, range(2**20, 2**15, -(2**15))), store, Here())
    assert (counts.computed, counts.answered) == (1, 30)
    again = run(points(lenet5, target, [2**20, 2**21]), store, Here())
    assert (again.held, again.computed) == (1, 1), "answers are those of one run"
    frame = store.frame()
    store.close()
    assert len(frame) == 32
    assert frame.arena_bytes.nunique() == 1
    assert sorted(frame.sram_bytes)[-2:] == [2**20, 2**21]


def faked(seen: Seen | None = None, fail_at: int = -1) -> Any:
    done: list[str] = []

    def work(bundle: Sequence[Point], version: str) -> list[Outcome]:
        assert version == compiler()
        if len(done) == fail_at:
            raise KeyboardInterrupt
        done.extend(point.key for point in bundle)
        numbers = {"status": "ok", "arena_bytes": bundle[0].machine.sram_bytes // 2}
        return [Outcome(point.key, numbers, seen) for point in bundle]

    return work


def test_a_sweep_goes_on_where_it_was_stopped(lenet5: Path, target: str, tmp_path: Path) -> None:
    all_points = points(lenet5, target, range(1000, 1040))
    stopped, whole = Store(tmp_path / "stopped"), Store(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(all_points, stopped, Here(faked(fail_at=17)))
    stopped.close()
    stopped = Store(tmp_path / "stopped")
    assert len(stopped.keys) == 17
    counts = run(all_points, stopped, Here(faked()))
    assert (counts.held, counts.computed) == (17, 23)
    run(all_points, whole, Here(faked()))
    assert stopped.frame().equals(whole.frame())
    for store in (stopped, whole):
        store.close()


def test_keys_differ_in_all_that_matters(lenet5: Path, target: str) -> None:
    (point,) = points(lenet5, target, [4096])
    others = [
        replace(point, digest="0" * 32),
        replace(point, verified=0),
        replace(point, job=replace(point.job, pipeline="tails")),
        replace(point, job=replace(point.job, input_dims={"N": 1})),
        replace(point, machine=replace(point.machine, clock_hz=3)),
    ]
    assert len({each.key for each in (point, *others)}) == 6
    elsewhere = replace(point, job=replace(point.job, target="other.toml", model=Path("copy.onnx")))
    assert elsewhere.key == point.key
    assert Machine.load(target) == point.machine


def test_failures_are_rows(lenet5: Path, target: str) -> None:
    (point,) = points(lenet5, target, [40])
    found = outcome(point)
    assert found.results["status"] == "failed"
    assert "40" in found.results["diagnostic"]
    (wrong,) = points(lenet5, target, [4096], pipeline="npu-bufferise")
    row = row_of(wrong, outcome(wrong).results)
    assert "npu-bufferise" in row["diagnostic"]
    assert row["arena_bytes"] is None
    (small,) = points(lenet5, target, [4096])
    small = replace(small, machine=replace(small.machine, flash_bytes=100))
    assert "of flash needed for the weights, 100 available" in outcome(small).results["diagnostic"]


def test_a_worker_must_have_the_same_compiler_and_model(lenet5: Path, target: str) -> None:
    (point,) = points(lenet5, target, [4096])
    with pytest.raises(Stranger, match="the worker has the compiler"):
        evaluate([point], "0.0+other")
    with pytest.raises(Stranger, match="is another model on the worker"):
        evaluate([replace(point, digest="1" * 32)], compiler())


def test_a_machine_survives_its_file(target: str, tmp_path: Path) -> None:
    from npu_tools.exploring.points import machine_numbers

    for name in (target, "exynos-npu", "zynq7020", "cortex-m4", "stm32h743"):
        machine = Machine.load(name)
        path = tmp_path / "copy.toml"
        path.write_text(toml_of(machine_numbers(machine)))
        assert Machine.load(str(path)) == machine


def main_of(*args: object) -> int:
    return command.main([str(each) for each in args])


def test_the_command_prints_the_front(
    lenet5: Path, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "sweep"
    shared = [lenet5, "--target", target, "--jobs", 0, "--store", store, "--plan-as", "i8"]
    aims = ["--objective", "cycles,sram_bytes"]
    assert main_of(*shared, *aims, "--set", "sram_bytes=40,4K,8K") == 0
    out = capsys.readouterr().out
    assert out.startswith("3 points: ")
    assert "best in cycles, sram_bytes: no other point beats these" in out
    assert "1 of 3 points have failed:" in out
    assert main_of(*shared, *aims, "--set", "sram_bytes=4K,8K,16K") == 0
    assert "2 in the store before" in capsys.readouterr().out
    searching = ["--set", "sram_bytes=1K:64K:+1K", "--search", 5, "--seed", 1]
    pytest.importorskip("optuna")
    assert main_of(*shared, *aims, *searching) == 0
    first = capsys.readouterr().out.splitlines()[1:]
    assert main_of(*shared, *aims, *searching) == 0
    again = capsys.readouterr().out.splitlines()
    assert ": 0 computed, 0 the same as another one, " in again[0]
    assert again[1:] == first, "the same seed proposes the same points"


def test_a_report_is_written_when_it_is_asked_for(
    lenet5: Path, target: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = lenet5.parent / "sweep"
    space = ["sram_bytes=5000", "strategy=exact"]
    (row,) = explore(lenet5, space, target=target, plan_as="i8", store=store, jobs=0).to_dict(
        "records"
    )
    asked: list[list[str]] = []

    def compiled(args: list[str]) -> int:
        asked.append(args)
        assert Machine.load(args[args.index("--target") + 1]).sram_bytes == 5000
        return 0

    monkeypatch.setattr(compile_command, "main", compiled)
    assert main_of("--report", row["key"][:6], "--store", store) == 0
    path = store / "_reports" / f"{row['key']}.html"
    assert f"wrote {path}" in capsys.readouterr().out
    ((model, *options),) = asked
    assert model == str(lenet5)
    assert options[options.index("--html") + 1] == str(path)
    chosen = ["--pipeline", "default", "--strategy", "exact", "--plan-as", "i8"]
    assert options[options.index("--pipeline") :] == chosen
    assert len(package("pandas").read_parquet(store)) == 1, "reports do not disturb readers"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "sram=1"], "--set sram=1: unknown key 'sram'"),
        (["--set", "sram_bytes=2M:1M:x2"], "the range is empty"),
        (["--set", "sram_bytes=0"], "expected sram_bytes to be an integer of at least 1, got 0"),
        (["--set", "target=nowhere"], "unknown target 'nowhere'"),
        (["--objective", "speed"], "unknown objective 'speed': expected"),
        (["--verify"], "there is nothing to --verify"),
        (["--report", "abc"], "no point of"),
    ],
)
def test_one_message_for_bad_input(
    options: list[str],
    message: str,
    lenet5: Path,
    target: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = lenet5.parent / "store"
    shared = [lenet5, "--target", target, "--plan-as", "i8", "--store", store, "--jobs", 0]
    assert main_of(*shared, *options) == 1
    error = capsys.readouterr().err
    assert error.startswith("npu-explore: error: ")
    assert message in error
    assert "Traceback" not in error
    assert list(store.glob("*.parquet")) == []


def test_a_damaged_model_is_one_message(
    lenet5: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lenet5.write_bytes(lenet5.read_bytes()[:99])
    assert main_of(lenet5, "--target", target, "--store", lenet5.parent / "s") == 1
    assert "npu-explore: error: " in capsys.readouterr().err
    with pytest.raises(UserError):
        explore(lenet5, [], target=target, jobs=0)
