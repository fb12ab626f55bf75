"""Ways from layers to loops; all must give the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from helpers.pipeline import context, run_passes
from helpers.quantized.build import Array

FUSE = "npu-fuse-conv-relu-pool{overlap=line-buffer},npu-fuse-additions"


@dataclass(frozen=True)
class Road:
    """A machine, and options of `npu-lower-to-loops`."""

    machine: str
    options: str = ""

    def __str__(self) -> str:
        return f"{self.machine} {self.options}".strip()


DSP = Road("cortex-m4")
SMALL = Road("cortex-m4", "flash=small")
NO_FPU = Road("cortex-m4", "registers=0")
BYTES = Road("fe310")
M0 = Road("cortex-m0")
M7 = Road("cortex-m7")
VECTORS = Road("cortex-m55")
ROADS = (DSP, SMALL, NO_FPU, BYTES, VECTORS)
SLOW = (SMALL, NO_FPU, VECTORS)
"""The roads that tests of whole plans leave to the slow tests."""


def placed(
    module: ModuleOp, *, layouts: bool = True, fold: bool = False, concat: bool = False
) -> ModuleOp:
    """Layers on buffers, each in a function of its own; images are read where they lie.

    `layouts`: choose layouts. `fold`: fold zero points of inputs into the bias, without padding.
    `concat`: write the parts of concatenations in place.
    """
    first = f"{FUSE},npu-fold-zero-points" if fold else FUSE
    choose = ",npu-concat-in-place" if concat else ""
    choose += ",npu-choose-layouts" if layouts else ""
    return run_passes(
        context(),
        module,
        f"{first},npu-bufferize{choose},npu-transpose-in-place,npu-assign-sram-offsets,"
        "npu-outline-layers",
    )


def lowered(module: ModuleOp, road: Road) -> ModuleOp:
    """The loops of a module for the machine of a road."""
    options = f"{{{road.options}}}" if road.options else ""
    attach = f"npu-attach-target{{target={road.machine}}}"
    return run_passes(context(), module, f"{attach},npu-lower-to-loops{options}")


def same(found: Sequence[Array], wanted: Sequence[Array], what: object) -> None:
    """Check that all outputs of some networks are equal."""
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        message = f"{what}, network {number}"
        np.testing.assert_array_equal(one.reshape(other.shape), other, message)
