"""The C of a program with transfers on the virtual clock of `npu_dma.h`, to check its cycles.

`npu-mark-work` puts the cycles of layers into the IR while it still has layers. The marked C is
printed first; then the marks are dropped, and the C that is written knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import ArgSpec

from npu_dialect.dma import WorkOp
from npu_dialect.machine import Machine
from npu_dialect.walking import walk_kind

MARK_WORK = "npu-mark-work"
LOWERING = ("npu-outline-layers", "npu-lower-to-loops")
"""The passes after which layers are no longer layers."""


@dataclass(frozen=True)
class Clocked:
    """The text of the C file with marks, and the macros with the numbers of the machine."""

    source: str
    macros: tuple[str, ...]


def marked(specs: Sequence[ArgSpec]) -> list[ArgSpec]:
    """A pipeline that marks layers with their cycles, if it lowers them."""
    places = [place for place, spec in enumerate(specs) if spec.name in LOWERING]
    mark = ArgSpec(MARK_WORK, {"misfit": ("leave",)})
    return [*specs[: places[0]], mark, *specs[places[0] :]] if places else list(specs)


def clocked_program(
    module: ModuleOp, name: str, weights: Literal["c", "bin"], machine: Machine
) -> Clocked | None:
    """The C with marks, which the module loses; None if it has no marks."""
    from npu_passes.emit.c import emit
    from npu_passes.overlap.mark_work import drop_marks

    if not any(walk_kind(module, WorkOp)):
        return None
    source = emit(module, name, weights).source
    drop_marks(module)
    rate = machine.dma_bytes_per_cycle
    numbers = {
        "CHANNELS": machine.dma_channels,
        "SETUP": machine.dma_setup_cycles,
        "JUMP": machine.dma_jump_cycles,
        "BYTES": rate.numerator,
        "CYCLES": rate.denominator,
    }
    macros = (f"NPU_DMA_CLOCK_{key} {number}u" for key, number in numbers.items())
    return Clocked(source, ("NPU_DMA_CLOCK", *macros))
