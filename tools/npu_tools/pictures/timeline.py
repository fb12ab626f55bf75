"""`npu-compile --timeline`: what the core and the DMA engine do over time, as Chrome trace events.

    {"traceEvents": [{"name": "conv1", "ph": "X", "tid": 0, "ts": 0.0, "dur": 88.1, ...}, ...]}

Perfetto and chrome://tracing open such a file. A row shows the core: layers and waits. Each channel
has a row with its transfers, from the start to the last byte. Two counters follow: bytes in flight,
and bytes of the arena in use. The latter change with the ops of the function; a loop counts as one
op. Times are microseconds of the machine's clock; `args` has the cycles.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.target import machine_of
from npu_dialect.walking import walk
from npu_passes.analysis.lifetimes import OnChipBuffer, lifetimes_of
from npu_passes.analysis.on_chip import on_chip_spaces
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.timed_program import TimedProgram, read_program
from npu_plans.time.rates import Rates, UnknownRate
from npu_plans.time.simulate import ProgramError, simulate
from npu_plans.time.stepping import Event, Stepper
from npu_tools.reports.report import planned_function
from npu_tools.shared.errors import UserError

MOST_EVENTS = 1_000_000
"""The most events that are written; viewers get slow with more."""
PROCESS = 1
CORE = 0
"""The row of the core; channel n has row n + 1."""

TraceEvent = dict[str, Any]


@dataclass
class TimelineStop:
    """An observer that keeps the timeline after the last step in which buffers have offsets."""

    found: list[TraceEvent] = field(default_factory=list[TraceEvent])
    complaint: str = "expected a pipeline with npu-assign-sram-offsets"

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Read the timeline of the module, if its buffers have offsets."""
        function, machine = planned_function(module), machine_of(module)
        if function is None or machine is None:
            return
        try:
            rates = Rates.of(machine)
            program = read_program(function, rates)
            simulate(program.body, rates)  # raises: a transfer without a wait
        except (NotTimed, ProgramError, UnknownRate) as reason:
            self.found, self.complaint = [], str(reason)
            return
        self.found = list(islice(trace_events(function, program, rates), MOST_EVENTS + 1))

    def text(self) -> str:
        """The timeline as JSON.

        Raises: UserError if there is none, or if it has too many events.
        """
        if not self.found:
            raise UserError(f"--timeline: no cycles: {self.complaint}")
        if len(self.found) > MOST_EVENTS:
            raise UserError(f"--timeline: there are more than {MOST_EVENTS} events")
        return json.dumps({"traceEvents": self.found, "displayTimeUnit": "ns"}) + "\n"


def trace_events(function: Operation, program: TimedProgram, rates: Rates) -> Iterator[TraceEvent]:
    """The trace events of a program."""
    yield from rows(rates)
    scale = 1e6 / rates.clock_hz
    stepper, arena, transfers = Stepper.at_start(rates), Arena(function), list[Event]()
    for op, steps in program.parts:
        used = arena.used(op)
        if used is not None:
            yield counter("arena in use", stepper.clock.now, used, scale)
        for event in stepper.run(steps):
            yield shown(event, scale)
            if event.kind == "transfer":
                transfers.append(event)
    yield from in_flight(transfers, scale)


def rows(rates: Rates) -> Iterator[TraceEvent]:
    """The names of the rows."""
    names = ("core", *(f"DMA channel {channel}" for channel in range(rates.channels)))
    for row, name in enumerate(names):
        about = {"ph": "M", "pid": PROCESS, "tid": row}
        yield {"name": "thread_name", **about, "args": {"name": name}}
        yield {"name": "thread_sort_index", **about, "args": {"sort_index": row}}


def shown(event: Event, scale: float) -> TraceEvent:
    """A bar in the row of the core or of a channel."""
    name = event.owner or event.kind
    cycles = {"begin": event.begin, "cycles": event.end - event.begin}
    moved = {"bytes": event.bytes} if event.kind == "transfer" else {}
    return {
        "name": f"wait: {name}" if event.kind == "wait" else name,
        "cat": event.kind,
        "ph": "X",
        "pid": PROCESS,
        "tid": event.channel + 1 if event.kind == "transfer" else CORE,
        "ts": event.begin * scale,
        "dur": (event.end - event.begin) * scale,
        "args": {**cycles, **moved},
    }


def counter(name: str, cycle: int, value: int, scale: float) -> TraceEvent:
    """The value of a counter from a cycle on."""
    return {
        "name": name,
        "ph": "C",
        "pid": PROCESS,
        "tid": CORE,
        "ts": cycle * scale,
        "args": {"bytes": value},
    }


def in_flight(transfers: Sequence[Event], scale: float) -> Iterator[TraceEvent]:
    """The counter of the bytes that transfers are moving."""
    changes: dict[int, int] = {}
    for each in transfers:
        changes[each.begin] = changes.get(each.begin, 0) + each.bytes
        changes[each.end] = changes.get(each.end, 0) - each.bytes
    total = 0
    for cycle in sorted(changes):
        total += changes[cycle]
        yield counter("bytes in flight", cycle, total, scale)


class Arena:
    """How many bytes of the arena are in use while an op of a function runs."""

    def __init__(self, function: Operation) -> None:
        lifetimes = lifetimes_of(function, *on_chip_spaces(function))
        self.points = {op: point for point, op in enumerate(lifetimes.ops)}
        self.buffers = [each for each in lifetimes.buffers if each.pin is not None]
        self.last = -1

    def used(self, op: Operation) -> int | None:
        """The bytes in use while an op runs; None if they are those of the op before."""
        first = self.points[op]
        last = first + sum(1 for _ in walk(op)) - 1
        live = [each for each in self.buffers if each.first <= last and each.last >= first]
        used = covered(live)
        if used == self.last:
            return None
        self.last = used
        return used


def covered(buffers: Sequence[OnChipBuffer]) -> int:
    """The bytes that buffers with offsets cover; those that share bytes count once."""
    total = end = 0
    for each in sorted(buffers, key=lambda each: each.pin or 0):
        low, high = max(each.pin or 0, end), (each.pin or 0) + each.size
        total += max(0, high - low)
        end = max(end, high)
    return total
