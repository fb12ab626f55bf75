"""What a page shows, gathered while a network is compiled.

    stops = PageStops(job.model.name)
    compiled = compile_model(replace(job, observers=stops.observers()))
    html = page_of(stops, compiled, ...)

A network that does not fit is compiled a second time for a machine with all the SRAM that it wants,
so that the page shows what needs the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.machine import Machine
from npu_dialect.machine_values import MOST
from npu_passes.support.refuse import DoesNotFit
from npu_tools.advice import Advice, advise
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.pages.graph import GraphStop
from npu_tools.pages.ir_steps import IrSteps
from npu_tools.pages.memory import map_entry
from npu_tools.pictures.map_stop import MapStop
from npu_tools.pictures.timeline import TimelineStop
from npu_tools.shared.errors import UserError, describe

if TYPE_CHECKING:
    from npu_tools.compiling.stops import Observer

PAPER = "kim2019"
"""The pipeline of paper 001."""


@dataclass
class PageStops:
    """The observers that read the IR for a page."""

    model: str
    ir: IrSteps = field(default_factory=IrSteps)
    graph: GraphStop = field(default_factory=GraphStop)
    times: TimelineStop = field(default_factory=TimelineStop)
    memory: MapStop = field(init=False)

    def __post_init__(self) -> None:
        """Make the observer that needs the model's name."""
        self.memory = MapStop(self.model)

    def observers(self) -> tuple[Observer, ...]:
        """The observers, for a job."""
        return (self.ir, self.graph, self.times, self.memory)


@dataclass(frozen=True)
class Build:
    """A network as it was compiled: all that a page shows.

    `why`: what the compiler said if it does not fit; then the plan is that for a machine with more
    SRAM. `paper`: the traffic that paper 001's passes plan, if they can. `advice`: what would make
    it fit. `report`: the contents of report.json.
    """

    stops: PageStops
    machine: Machine
    compiled: Compiled
    report: Mapping[str, Any]
    why: str = ""
    paper: Mapping[str, Any] | None = None
    advice: Advice = field(default_factory=Advice)
    zero_maps: Sequence[Mapping[str, Any]] = ()
    """The zero blocks of maps, measured on samples; see `zero_maps.py`."""


def build_of(job: Job) -> Build:
    """Compile a network for a page.

    Raises: as `compile_model`, but for want of memory.
    """
    machine, stops = Machine.load(job.target), PageStops(job.model.name)
    why, advice = "", Advice()
    try:
        compiled = watched(job, stops)
    except (DoesNotFit, UserError) as error:
        roomy = replace(machine.with_sram(MOST), flash_bytes=MOST)
        stops = PageStops(job.model.name)
        try:
            compiled = watched(replace(job, machine=roomy), stops)
        except (DiagnosticException, UserError):
            raise error from None  # it is not the memory that is missing
        is_sram = isinstance(error, DoesNotFit)
        why = describe(error) if is_sram else str(error)
        advice = advise(job, error.needed if is_sram else None)
    report = compiled.report.as_dict()
    report["memory"]["sram_bytes"] = machine.sram_bytes
    report |= map_entry(stops.memory.found)
    return Build(stops, machine, compiled, report, why, paper_of(job, machine), advice)


def watched(job: Job, stops: PageStops) -> Compiled:
    """Compile a network, with the observers of a page beside those of the job."""
    return compile_model(replace(job, observers=(*job.observers, *stops.observers())))


def paper_of(job: Job, machine: Machine) -> Mapping[str, Any] | None:
    """The traffic that paper 001's passes plan; None without DMA, or if they refuse the network."""
    if not machine.dma_channels or job.pipeline == PAPER:
        return None
    plain = Job(
        job.model,
        job.target,
        pipeline=PAPER,
        plan_as=job.plan_as,
        input_dims=job.input_dims,
        functions=job.functions,
    )
    try:
        return compile_model(plain).report.as_dict()["off_chip"]
    except (DiagnosticException, UserError):
        return None
