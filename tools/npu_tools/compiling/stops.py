"""What is looked at while the passes of a job run: measurements at certain stops, dumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from npu_passes.modules.plan_modules import PlanModulesPass
from npu_plans.modules.traffic import Traffic
from npu_tools.compiling.naive import NaiveStop
from npu_tools.compiling.printer import ir_text
from npu_tools.reports.module_report import planned_report
from npu_tools.reports.report import (
    LayerReport,
    Report,
    buffered_layers,
    planned_function,
    report_of,
)
from npu_tools.shared.files import write_file

TILE_LOOPS = "npu-tile-loops"

Observer = Callable[[str, ModuleOp], None]
"""Called after each step with its name (`import`, or a pass) and the module."""


@dataclass
class Measurements:
    """What the stops of the road say of a network, put together at the end.

    `buffers`: layers at their offsets, the last time that they were there. `planned`: the plan for
    modules of branches, right behind it. `layers`: each layer as a whole, before it is cut into
    tiles.
    """

    model: str
    buffers: Report | None = None
    planned: Report | None = None
    layers: tuple[LayerReport, ...] = ()
    tiled: bool = False
    naive: NaiveStop = field(default_factory=NaiveStop)

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Measure what is there to be measured."""
        self.naive(step, module)
        self.tiled |= step == TILE_LOOPS
        if not self.tiled:
            self.layers = buffered_layers(module) or self.layers
        if step == PlanModulesPass.name:
            self.planned = planned_report(module, self.model)
        if planned_function(module) is not None:
            self.buffers = report_of(module, self.model)

    @property
    def report(self) -> Report | None:
        """What is known in the end; None if nothing was planned."""
        found = self.buffers or self.planned
        if found is None or self.buffers is None:
            return found
        if self.planned is not None:
            found = replace(found, modules=self.planned.modules)
        if (naive := self.naive.traffic) is not None:
            found = replace(found, naive=naive, modules=self.measured_modules(found))
        return replace(found, layers=self.whole_layers(found)) if self.tiled else found

    def measured_modules(self, report: Report) -> tuple[dict[str, object], ...]:
        """The modules of the plan, with what their layers really move off the chip."""
        return tuple(
            {**row, "off_chip": asdict(report.module_traffic.get(str(row["name"]), Traffic()))}
            for row in report.modules
        )

    def whole_layers(self, report: Report) -> tuple[LayerReport, ...]:
        """Each layer as it was before it was tiled, with its first place and its tile."""
        tiles = {layer.name: layer for layer in reversed(report.layers)}
        return tuple(
            replace(layer, offset=tiles[layer.name].offset, tile=tiles[layer.name].tile)
            if layer.name in tiles
            else layer
            for layer in self.layers
        )


@dataclass
class IrDump:
    """Writes the IR after every step: `00-import.mlir`, `01-npu-fold-batch-norm.mlir`, ..."""

    folder: Path
    steps: int = 0

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Write one file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / f"{self.steps:02}-{step}.mlir", ir_text(module))
        self.steps += 1
