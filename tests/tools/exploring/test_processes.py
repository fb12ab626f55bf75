"""Sweeps on several processes, which may be killed at any time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npu_tools.commands import explore as command
from npu_tools.exploring import pools
from npu_tools.exploring.api import explore
from npu_tools.exploring.packages import package
from npu_tools.exploring.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("distributed")

SPACE = ["--set", "sram_bytes=120:400:+8", "--set", "dma_bytes_per_cycle=2,4"]
POINTS = 36 * 2
START = """
import sys
from npu_tools.commands import explore
from npu_tools.exploring import store
store.OFTEN = 0.05  # rows are written while the sweep runs, though it is short
sys.exit(explore.main())
"""


def test_a_scheduler_that_is_not_there(
    lenet5: Path,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pools, "SECONDS", 0.5)
    store = lenet5.parent / "store"
    options = ["--target", target, "--store", str(store), "--scheduler", "tcp://127.0.0.1:9"]
    assert command.main([str(lenet5), *options]) == 1
    error = capsys.readouterr().err
    assert error.startswith("npu-explore: error: --scheduler tcp://127.0.0.1:9: cannot reach it")
    assert len(error.splitlines()) == 1
    assert list(store.glob("*.parquet")) == []


def start(model: Path, target: str, store: Path) -> subprocess.Popen[str]:
    options = ["--target", target, "--plan-as", "i8", "--store", str(store), "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", START, str(model), *options, *SPACE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers(process: subprocess.Popen[str]) -> list[int]:
    """The processes that compute, which the client has started."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(parent) == process.pid and any(b"spawn_main" in word for word in words):
            found.append(int(folder.name))
    return found


def until(process: subprocess.Popen[str], holds: Callable[[], Any]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def undisturbed(model: Path, target: str) -> Any:
    """The rows of a sweep in this process."""
    return explore(model, SPACE[1::2], target=target, plan_as="i8", jobs=0).drop(columns="front")


def rows_of(store: Path) -> Any:
    held = Store(store)
    try:
        return held.frame()
    finally:
        held.close()


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_client_lose_no_row(small: Path, target: str) -> None:
    store = small.parent / "store"
    process = start(small, target, store)
    until(process, lambda: list(store.glob("*.parquet")))
    started = workers(process)
    os.kill(started[0], signal.SIGKILL)
    known = len(list(store.glob("*.parquet")))
    until(process, lambda: len(list(store.glob("*.parquet"))) > known)
    started += workers(process)
    process.kill()
    process.wait()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{number}").exists() for number in started):
        assert time.monotonic() < end, "workers end with their client"
        time.sleep(0.1)
    before = len(rows_of(store))
    assert 0 < before < POINTS
    process = start(small, target, store)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert f"{before} in the store before" in out
    assert rows_of(store).equals(undisturbed(small, target))


def deadly(bundle: Any, version: str) -> Any:
    """Ends the worker that calls it."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_point_that_kills_its_workers_becomes_a_row(small: Path, target: str) -> None:
    from npu_dialect.machine import Machine
    from npu_tools.compiling.driver import Job
    from npu_tools.exploring.engine import run
    from npu_tools.exploring.points import Point

    point = Point(Job(small, target), Machine.load(target), "0" * 32)
    store = Store(small.parent / "store")
    once = package("dask").config.set({"distributed.scheduler.allowed-failures": 0})
    with once, pools.connected(None, 1) as client:
        run([point], store, pools.OnDask(client, deadly))
    frame = store.frame()
    store.close()
    assert list(frame.status) == ["failed"]
    assert "every worker that computed it has died" in frame.diagnostic[0]
