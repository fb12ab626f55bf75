"""Observers of the driver: the measurements for report.json, and the IR dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from npu_dialect.attributes import TILE
from npu_plans.modules.traffic import Traffic
from npu_tools.compiling.naive import NaiveStop
from npu_tools.reports.report import (
    LayerReport,
    Report,
    buffered_layers,
    planned_function,
    report_of,
)
from npu_tools.shared.files import write_file

PLAN_MODULES = "npu-plan-modules"
TILE_LOOPS = "npu-tile-loops"
TILE_SLOW_MAPS = "npu-tile-slow-maps"
SPLIT_TRANSFERS = "npu-split-transfers"
USE_ROOM = ("npu-prefetch", "npu-split-layers", SPLIT_TRANSFERS)
"""Passes behind the offsets that only use the memory that is left."""
ASSIGN_OFFSETS = "npu-assign-sram-offsets"
DECIDE = (ASSIGN_OFFSETS, *USE_ROOM[:-1])
"""Passes that decide offsets and transfers, in front of `npu-split-transfers`."""
KEEP_TIME = ("npu-assign-dram-offsets", "npu-turn-layers")
"""Passes that change no cycles."""

Observer = Callable[[str, ModuleOp], None]
"""A function that the driver calls after each step, with the step's name and the module.

The name is `import` or that of a pass."""


def passed_by(names: Sequence[str]) -> frozenset[str]:
    """Of the passes `names`, those that `npu-split-transfers` follows as the last that decides."""
    last = next((name for name in reversed(names) if name in (*DECIDE, SPLIT_TRANSFERS)), None)
    return frozenset(DECIDE) if last == SPLIT_TRANSFERS else frozenset()


@dataclass
class Measurements:
    """An observer that measures the IR at several steps and joins the results in `report`.

    `buffers`: the report after the last step in which layers are on buffers with offsets.
    `planned`: the report right after `npu-plan-modules`. `layers`: the layers on buffers before
    `npu-tile-loops` or `npu-tile-slow-maps` cuts them into tiles; `tiled` says that one has.
    """

    model: str
    tiles: bool = True
    """Whether `npu-tile-loops` is among the passes."""
    in_front: str = ""
    """The step in front of `npu-tile-slow-maps`, which few machines need; empty if it is none."""
    passed: frozenset[str] = frozenset()
    """Steps after which nothing is measured, as a later one decides more (`passed_by`)."""
    buffers: Report | None = None
    planned: Report | None = None
    layers: tuple[LayerReport, ...] = ()
    tiled: bool = False
    time: Mapping[str, Any] | None = None
    naive: NaiveStop = field(default_factory=NaiveStop)

    @staticmethod
    def of(model: str, names: Sequence[str]) -> Measurements:
        """The measurements of a model that goes through the passes `names`."""
        place = names.index(TILE_SLOW_MAPS) if TILE_SLOW_MAPS in names else 0
        in_front = names[place - 1] if place else ""
        return Measurements(model, TILE_LOOPS in names, in_front, passed_by(names))

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Take the measurements that are possible after this step."""
        self.naive(step, module)
        self.tiled |= step == TILE_LOOPS or (step == TILE_SLOW_MAPS and has_tiles(module))
        if (self.tiles or step == self.in_front) and not self.tiled:
            self.layers = buffered_layers(module) or self.layers
        if step == PLAN_MODULES:
            from npu_tools.reports.module_report import planned_report

            self.planned = planned_report(module, self.model)
        if step not in self.passed and (function := planned_function(module)) is not None:
            from npu_tools.reports.time_report import time_of

            self.buffers = report_of(module, self.model)
            if step not in KEEP_TIME or self.time is None:
                self.time = time_of(module, function)

    @property
    def report(self) -> Report | None:
        """The report from all measurements; None if no pass has planned memory."""
        found = self.buffers or self.planned
        if found is None or self.buffers is None:
            return found
        found = replace(found, time=self.time)
        if self.planned is not None:
            found = replace(found, modules=self.planned.modules)
        if (naive := self.naive.traffic) is not None:
            found = replace(found, naive=naive, modules=self.measured_modules(found))
        return replace(found, layers=self.whole_layers(found)) if self.tiled else found

    def measured_modules(self, report: Report) -> tuple[dict[str, object], ...]:
        """The modules of the plan, with the traffic that the transfers of their layers cause.

        The traffic is counted in the IR. It replaces what the plan has predicted.
        """
        return tuple(
            {**row, "off_chip": asdict(report.module_traffic.get(str(row["name"]), Traffic()))}
            for row in report.modules
        )

    def whole_layers(self, report: Report) -> tuple[LayerReport, ...]:
        """Each layer as it was before tiling, with the offset and tile that its first tile has."""
        tiles = {layer.name: layer for layer in reversed(report.layers)}
        return tuple(
            replace(layer, offset=first.offset, tile=first.tile, memory=first.memory)
            if (first := tiles.get(layer.name)) is not None
            else layer
            for layer in self.layers
        )


def has_tiles(module: ModuleOp) -> bool:
    """Whether some layer of a module runs in tiles."""
    return any(TILE.is_on(op) for op in module.walk())


@dataclass
class IrDump:
    """An observer that writes the IR after every step, to files in `folder`.

    They are called `00-import.mlir`, `01-npu-split-conv-transpose.mlir`, ...
    """

    folder: Path
    steps: int = 0

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Write the IR after one step; make the folder if it is missing."""
        from npu_tools.compiling.printer import ir_text

        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / f"{self.steps:02}-{step}.mlir", ir_text(module))
        self.steps += 1
