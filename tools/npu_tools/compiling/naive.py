"""Off-chip traffic of a network that runs layer by layer with all feature maps off chip.

The level of IR is layers on tensors, inside and outside modules of branches, before layers run row
by row or on buffers. Each layer reads its IFM from off-chip memory and writes its OFM there; see
`passes/npu_plans/modules/traffic.py` for the conventions, which are those of paper 001.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.rows import RowsOp
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_plans.modules.footprints import Storage
from npu_plans.modules.traffic import Traffic, naive_layer, naive_module, total


@dataclass
class NaiveStop:
    """An observer that measures the traffic of layer-by-layer execution on a machine with DMA.

    `last` is a copy of the module after the last step in which all layers are on tensors and none
    runs row by row. Parameters are folded and layers fused then. A fused pool or addition counts as
    a layer of its own.
    """

    last: ModuleOp | None = None

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Copy the module if the machine has DMA channels and the layers are still on tensors."""
        machine = machine_of(module)
        if machine is not None and machine.dma_channels and on_tensors(module):
            self.last = module.clone()

    @property
    def traffic(self) -> Traffic | None:
        """The traffic of the copied module; None if no module was copied."""
        machine = None if self.last is None else machine_of(self.last)
        if self.last is None or machine is None:
            return None
        from npu_passes.modules.module_reader import ModuleReader, layers_outside, modules_of

        reader = ModuleReader(Storage.of(machine))
        modules = [naive_module(reader.module(op)) for op in modules_of(self.last)]
        outside = [naive_layer(reader.layer(op)) for op in layers_outside(self.last)]
        return total([*modules, *outside])


def on_tensors(module: ModuleOp) -> bool:
    """Whether the module has layers, all on tensors, and none that runs row by row."""
    found = False
    for op in walk_kind(module, LayerOp, RowsOp):
        if isinstance(op, RowsOp) or op.destination is not None:
            return False
        found = True
    return found
