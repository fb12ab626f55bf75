"""Computes the rows of points: what each worker process does.

A worker imports a model once, and keeps the programs that it has become (`road.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.modules.inline_modules import InlineModulesPass
from npu_passes.modules.plan_modules import PlanModulesPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_tools.compiling.driver import Job, job_passes, prepare, run_passes
from npu_tools.compiling.resuming import remaining
from npu_tools.exploring.points import Point, compiler, imported
from npu_tools.exploring.road import Failure, Road
from npu_tools.exploring.watching import Seen
from npu_tools.reports.module_report import planned_report
from npu_tools.reports.report import planned_function, report_of
from npu_tools.reports.time_report import time_of
from npu_tools.shared.collector import paused_collector
from npu_tools.shared.errors import UserError, diagnostic_of

MOST_ROADS = 4
"""How many networks a process keeps."""

Results = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The results of a point; `seen`: for which other machines they are the same, None for none."""

    key: str
    results: Results
    seen: Seen | None = None


class Stranger(RuntimeError):
    """This process cannot compute a point: it has another compiler, or another model's file."""


@dataclass
class Network:
    """A model, and its roads by the options that change it before the first pass."""

    digest: str
    module: ModuleOp
    roads: dict[tuple[object, ...], Road] = field(default_factory=dict[tuple[object, ...], Road])

    def road(self, job: Job) -> Road:
        """The road for a job.

        Raises: what `prepare` raises.
        """
        key = (job.io, job.keep_state, job.requantize, job.flash)
        if key not in self.roads:
            module = self.module.clone()
            prepare(module, job)
            self.roads[key] = Road(module)
        return self.roads[key]


NETWORKS: dict[str, Network] = {}
"""The networks that this process keeps, the last used one at the end."""

ALONE = threading.Lock()
"""A process computes one point at a time: the states of a road are shared."""


def evaluate(points: Sequence[Point], version: str) -> list[Outcome]:
    """Compute points, with a compiler of this version.

    Raises: Stranger if this process has another compiler, or finds another model in the file.
    """
    if version != compiler():
        raise Stranger(f"the worker has the compiler {compiler()}, the client {version}")
    with ALONE, paused_collector():
        return [outcome(point) for point in points]


def outcome(point: Point) -> Outcome:
    """Compute a point. What fails is a row with its diagnostic.

    Raises: Stranger, as `evaluate`.
    """
    network = network_of(point)
    try:
        results, seen = measured(network, point)
    except Stranger:
        raise
    except Exception as error:
        results, seen = failed(diagnostic_of(error)), None
    if point.verified is not None and results["status"] == "ok":
        from npu_tools.exploring.verifying import verified

        results, seen = {**results, **verified(point)}, None
    return Outcome(point.key, results, seen)


def failed(diagnostic: str) -> Results:
    """The results of a point that fails."""
    return {"status": "failed", "diagnostic": diagnostic}


def network_of(point: Point) -> Network:
    """The network of a point, imported if this process has not seen it yet.

    Raises: Stranger if the model's file holds something else here, or cannot be read.
    """
    network = NETWORKS.pop(point.digest, None)
    if network is None:
        try:
            loaded, digest = imported(point.job)
        except (UserError, OSError) as error:
            raise Stranger(f"the worker cannot read the model: {error}") from None
        if digest != point.digest:
            raise Stranger(f"{point.job.model} is another model on the worker")
        network = Network(digest, loaded.module)
    NETWORKS[point.digest] = network
    while len(NETWORKS) > MOST_ROADS:
        del NETWORKS[next(iter(NETWORKS))]
    return network


def measured(network: Network, point: Point) -> tuple[Results, Seen | None]:
    """The results of a point, and for which other machines they are the same.

    Raises: what passes and options raise.
    """
    road = network.road(point.job)
    whole = job_passes(point.job, point.machine)
    passes = planning(remaining(whole, road.start.module))
    try:
        end, seen = road.follow(point.machine, passes)
    except Exception:  # whatever cannot be watched is computed as npu-compile does
        module = road.start.module.clone()
        TARGET.set(module, TargetAttr.of(point.machine))
        run_passes(module, passes, ())
        return results_of(sizes_in(module), times_in(module), point.machine), None
    if isinstance(end, Failure):
        return failed(end.diagnostic), seen
    sizes, asked = road.read(end, point.machine, sizes_in)
    seen.add(asked)
    times, asked = road.read(end, point.machine, times_in)
    seen.add(asked)
    results = results_of(sizes, times, point.machine)
    seen.exact["flash_bytes"] = point.machine.flash_bytes
    # Which passes run depends on the DMA engine of the machine too.
    seen.exact |= {key: getattr(point.machine, key) for key in ("dma_channels", "dma_fifo_bytes")}
    return results, seen


def planning(passes: Sequence[ModulePass]) -> tuple[ModulePass, ...]:
    """The passes of a pipeline up to the last one with layers, that is, without those that make C.

    The places that `npu-plan-modules` writes are left out if `npu-inline-modules` drops them.
    """
    names = [each.name for each in passes]
    end = names.index(OutlineLayersPass.name) if OutlineLayersPass.name in names else len(names)
    modules = any(isinstance(e, AssignSramOffsetsPass) and e.strategy == "modules" for e in passes)
    inlined = InlineModulesPass.name in names and not modules
    return tuple(
        replace(each, places=False) if inlined and isinstance(each, PlanModulesPass) else each
        for each in passes[:end]
    )


def results_of(sizes: Mapping[str, Any], times: Mapping[str, Any], machine: Machine) -> Results:
    """The results of a planned module; weights that do not fit into the flash are a failure."""
    weights = sizes["weights_bytes"]
    if weights > machine.flash_bytes:
        return failed(
            f"{weights} bytes of flash needed for the weights, "
            f"{machine.flash_bytes} available on {machine.name}"
        )
    return {"status": "ok", **sizes, **times}


def sizes_in(module: ModuleOp) -> Results:
    """The sizes and the traffic of a planned module, in bytes.

    Raises: UserError if nothing was planned.
    """
    report = planned_report(module) if planned_function(module) is None else None
    report = report or report_of(module)
    traffic = report.off_chip
    return {
        "arena_bytes": report.arena_bytes,
        "live_bound_bytes": report.memory.live_bound_bytes,
        "weights_bytes": report.weights_bytes,
        "scratch_bytes": report.scratch_bytes,
        "off_chip.bytes": traffic.overall_bytes,
        "off_chip.weight_bytes": traffic.weight_bytes,
        "off_chip.feature_map_read_bytes": traffic.feature_map_read_bytes,
        "off_chip.feature_map_write_bytes": traffic.feature_map_write_bytes,
        "off_chip.feature_map_reads": traffic.feature_map_reads,
        "off_chip.feature_map_writes": traffic.feature_map_writes,
    }


TIMES = (
    *("cycles", "compute_cycles", "transfer_cycles", "exposed_cycles", "transferred_bytes"),
    *("exposed_bytes", "frames_per_second", "not_timed"),
)
"""The entries of the key `time` of report.json that are columns of their own."""


def times_in(module: ModuleOp) -> Results:
    """The times of a run of a planned module; a number is missing if it is not known."""
    function = planned_function(module)
    time: Mapping[str, Any] = (time_of(module, function) if function is not None else None) or {}
    energy: Mapping[str, Any] = time.get("energy_pj") or {}
    return {**{key: time.get(key) for key in TIMES}, "energy_pj": energy.get("total")}
