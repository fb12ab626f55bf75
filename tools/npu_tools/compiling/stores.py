"""Several read-only memories: how the option `--weights` changes where constants lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from xdsl.utils.arg_spec import ArgSpec

from npu_dialect.machine import Machine
from npu_tools.compiling.pass_text import with_value

ASSIGN_MEMORIES, STORE = "npu-assign-memories", "npu-store-constants"


def stored_together(
    specs: Sequence[ArgSpec], machine: Machine, weights: Literal["auto", "c", "bin"]
) -> list[ArgSpec]:
    """The pipeline for weights in a file: one block, which lies in one memory."""
    if weights != "bin" or not machine.stores:
        return list(specs)
    return with_value(with_value(specs, ASSIGN_MEMORIES, "together", True), STORE, "together", True)
