"""Advice for networks that do not fit: each way is one that the compiler itself takes."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.networks.zoo import TINY, build
from helpers.small_models import SaveModel
from npu_dialect.machine import Machine
from npu_tools.advice import Advice, Entry, advise
from npu_tools.advice.advise import KB, Search
from npu_tools.advice.limit import Clock, OutOfTime, at_most
from npu_tools.advice.trials import Fails, Fits, Trials
from npu_tools.commands import compile
from npu_tools.compiling.driver import Job, compile_model

MACHINE = """
name = "tiny"
sram_bytes = {sram}
flash_bytes = {flash}
clock_hz = 1000000
macs_per_cycle = {{ f32 = 1, i8 = 4 }}
sram_bytes_per_cycle = 4
"""


@pytest.fixture
def lenet5(save: SaveModel) -> Path:
    """A small LeNet-5, which needs less SRAM with a streamed input, and as bytes still less."""
    return save(build("lenet5", **TINY["lenet5"]))


def job_for(model: Path, sram: int, flash: int = 10**6) -> Job:
    machine = model.parent / f"tiny{sram}.toml"
    machine.write_text(MACHINE.format(sram=sram, flash=flash))
    return Job(model, str(machine))


def needed(job: Job) -> int:
    return compile_model(replace(job, target="host")).report.arena_bytes


def test_every_way_is_one_that_compiles(lenet5: Path) -> None:
    default = needed(Job(lenet5, "host"))
    streamed = needed(Job(lenet5, "host", stream_input=True))
    assert streamed < default
    job = job_for(lenet5, default - 1)
    advice = advise(job, default)
    assert [entry.kind for entry in advice.entries][-1] == "sram"
    assert advice.untried == ()
    assert advice.flash_bytes is None
    found = {entry.option: entry for entry in advice.entries}
    assert found["--stream-input"].arena_bytes == streamed
    assert found["int8 (npu-quantize)"].arena_bytes == needed(replace(job, plan_as="i8"))
    size = -(-default // KB) * KB
    assert found[f"an SRAM of {size // KB} KB"].sram_bytes == size
    compiled = compile_model(job_for(lenet5, size)).report
    assert compiled.arena_bytes == advice.entries[-1].arena_bytes
    assert compiled.time is not None
    assert compiled.time["cycles"] == advice.entries[-1].cycles
    assert len(found) == 3, "no way does more than another one that fits"


def test_a_diagnostic_ends_with_advice(lenet5: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bytes_ = needed(Job(lenet5, "host", stream_input=True))
    job = job_for(lenet5, bytes_)
    out = lenet5.parent / "out"
    assert compile.main([str(lenet5), "--target", job.target, "-o", str(out)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert f"bytes of SRAM needed, {bytes_} available on tiny" in lines[0]
    where = lines.index("it fits, as the compiler has tried:")
    assert lines[where + 1].startswith(
        f"  with --stream-input: {bytes_} of {bytes_} bytes of SRAM, "
    )
    assert len(lines[where + 1 :]) <= 3
    assert not out.exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_without_flash_only_smaller_weights_help(lenet5: Path, missing: int) -> None:
    default = needed(Job(lenet5, "host"))
    weights = Trials(Job(lenet5, "host")).least_flash()
    advice = advise(job_for(lenet5, default - 1, flash=weights - missing), default)
    assert {entry.kind for entry in advice.entries} == {"int8"}
    # the biases do not fit either, but that is only known after planning
    assert advice.flash_bytes == (weights if missing else None)


def test_time_is_limited(lenet5: Path) -> None:
    job, start = job_for(lenet5, 64), time.monotonic()
    assert advise(job, 100, seconds=0.002) == Advice(untried=("all",))
    assert time.monotonic() - start < 1
    assert advise(job, 100, most=0) == Advice()


def test_a_limit_ends_a_block_and_leaves_no_timer() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), at_most(0.01):
        time.sleep(5)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with pytest.raises(OutOfTime), at_most(0):
        pass


class Scripted(Trials):
    """Trials whose outcome depends on the size of the SRAM only."""

    def __init__(self, outcome: Callable[[int], Fits | Fails]) -> None:
        self.outcome, self.sizes = outcome, list[int]()

    def attempt(self, job: Job, machine: Machine) -> Fits | Fails:
        self.sizes.append(machine.sram_bytes)
        return self.outcome(machine.sram_bytes)


@pytest.mark.parametrize("needed", [None, 3000])
def test_sizes_grow_and_are_bisected(needed: int | None) -> None:
    trials = Scripted(lambda sram: Fits(sram, None) if sram >= 40000 else Fails())
    search = Search(trials, Machine("tiny", 2048, 10**6), Clock(60))
    found = search.larger(Job(Path("model.onnx"), "host"), needed)
    assert found is not None
    assert found.sram_bytes == 40 * KB
    assert len(trials.sizes) == len(set(trials.sizes)) <= 20


def test_what_the_passes_need_is_tried_first() -> None:
    trials = Scripted(lambda sram: Fits(5000, 7) if sram >= 5000 else Fails(5000))
    search = Search(trials, Machine("tiny", 2048, 10**6), Clock(60))
    found = search.larger(Job(Path("model.onnx"), "host"), 5000)
    assert found == Entry("sram", "an SRAM of 5 KB", 5000, 5 * KB, 7)
    assert trials.sizes == [5 * KB]
