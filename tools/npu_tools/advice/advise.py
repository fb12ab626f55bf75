"""Finds ways with which a network fits: other options, other numbers, a machine with more SRAM.

Each is tried with the passes that plan memory, on a copy of the network. The time of all of them
together is limited; what a limit stops is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from npu_dialect.machine import Machine
from npu_dialect.machine_values import MOST
from npu_tools.advice.entries import Advice, Entry
from npu_tools.advice.limit import Clock, OutOfTime, at_most
from npu_tools.advice.trials import Fails, Fits, Trials
from npu_tools.advice.ways import ways_of
from npu_tools.compiling.driver import Job
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.progress import Progress

SECONDS = 15.0
"""The time for all trials of one network."""
SHARE = 0.5
"""The share of the rest of the time that one trial may take, so that later ones have some too."""
KB = 1024
ELEMENT_BYTES = {"i8": 1, "i16": 2, "f16": 2, "bf16": 2}
"""Bytes of an element by the types of `--plan-as`."""
SIZES = 12
"""The most sizes of SRAM to try."""


def advise(
    job: Job, needed: int | None = None, *, most: int | None = None, seconds: float = SECONDS
) -> Advice:
    """Ways to compile a network that does not fit with which it does, the cheapest first.

    `needed`: bytes of SRAM that the job has failed for, if that is known. `most`: how many ways are
    enough; None for all. `seconds`: for how long to try, the import included. The job's files are
    read, none is written, and its observers are not called. The limit holds in the main thread
    only; see `at_most`.

    Raises: what `load` raises for a model that cannot be imported.
    """
    clock = Clock(seconds)
    if most == 0:
        return Advice()
    try:
        with paused_collector(), at_most(seconds * SHARE):
            machine, trials = Machine.load(job.target), Trials(job)
    except OutOfTime:
        return Advice(untried=("all",))
    search = Search(trials, machine, clock)
    try:
        with paused_collector():
            found = tuple(islice(search.entries(job, needed), most))
    finally:
        search.progress.clear()
    flash = None if search.has_flash(job) else trials.least_flash()
    return Advice(found, flash, tuple(search.untried))


@dataclass
class Search:
    """Tries ways one after another; `untried` are those that the clock has stopped."""

    trials: Trials
    machine: Machine
    clock: Clock
    untried: list[str] = field(default_factory=list[str])
    progress: Progress = field(default_factory=Progress)

    def entries(self, job: Job, needed: int | None) -> Iterator[Entry]:
        """The ways that fit. One that does more than another that fits is left out.

        If it is known how much SRAM is needed, that is tried before the time is over, as it is the
        one way that works for most networks.
        """
        has_flash = self.has_flash(job)
        larger = self.larger(job, needed) if has_flash and needed is not None else None
        enough: list[frozenset[str]] = []
        for way in ways_of(job, self.machine, is_float=self.trials.is_float):
            if not self.has_flash(way.job) or any(each <= way.changes for each in enough):
                continue
            fits = self.attempt(way.option, way.job, self.machine)
            if isinstance(fits, Fits):
                enough.append(way.changes)
                sram = self.machine.sram_bytes
                yield Entry(way.kind, way.option, fits.arena, sram, fits.cycles)
        if has_flash and needed is None:
            larger = self.larger(job, needed)
        if larger is not None:
            yield larger

    def has_flash(self, job: Job) -> bool:
        """Whether the machine may have the flash for the weights of a job."""
        element = None if job.plan_as is None else ELEMENT_BYTES[job.plan_as]
        return self.trials.least_flash(element) <= self.machine.flash_bytes

    def larger(self, job: Job, needed: int | None) -> Entry | None:
        """The job on a machine with more SRAM, in KB; None if no size works.

        What the passes say that they need is tried first. If that fails, sizes grow until one
        works, and bisection goes on between that size and the largest one that fails.
        """
        largest = max((each.bytes for each in self.machine.memories), default=None)
        fails, size = largest or self.machine.sram_bytes, needed
        found: Fits | Fails | None = Fails(needed)
        for _ in range(SIZES):
            size = rounded(max(size or 0, fails + 1 if size else fails * 5 // 4))
            if size > MOST:
                return None
            found = self.sized(job, size)
            if not isinstance(found, Fails):
                break
            fails, size = size, found.needed
        if not isinstance(found, Fits) or size is None:
            return None
        while size - fails > max(KB, size // 50) and (needed is None or size > rounded(needed)):
            middle = rounded((fails + size) // 2)
            smaller = self.sized(job, middle)
            if smaller is None:
                break
            if isinstance(smaller, Fits):
                size, found = middle, smaller
            else:
                fails = middle
        return Entry("sram", self.of_size(size), found.arena, size, found.cycles)

    def of_size(self, size: int) -> str:
        """What a machine has with a size of SRAM, in words."""
        what = "one memory" if self.machine.memories else "an SRAM"
        return f"{what} of {size // KB} KB"

    def sized(self, job: Job, size: int) -> Fits | Fails | None:
        """Try a size of SRAM."""
        machine = self.machine.with_sram(size)
        return self.attempt(self.of_size(size), job, machine)

    def attempt(self, name: str, job: Job, machine: Machine) -> Fits | Fails | None:
        """Try a way for a share of the time that is left; None if that is too short."""
        self.progress.say(f"trying {name}")
        try:
            with at_most(self.clock.left * SHARE):
                return self.trials.attempt(job, machine)
        except OutOfTime:
            self.untried.append(name)
            return None


def rounded(size: int) -> int:
    """A size rounded up to KB."""
    return -(-size // KB) * KB
