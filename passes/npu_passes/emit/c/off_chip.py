"""The additional parts of a program with off-chip memory: a DMA engine, and tables of transfers.

The engine is the header `npu_dma.h` beside the C file. Its parts are in `runtime/npu_dma/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from npu_dialect import dma
from npu_dialect.npu.attributes import DramSpace
from npu_passes.emit.c.calls import CallGraph
from npu_passes.emit.c.names import Scope
from npu_passes.emit.c.types import transfer_blocks, transfer_runs
from npu_passes.support.block_runs import BlockRuns
from npu_plans.transfers.runs import Runs

RUNTIME = "npu_dma.h"
"""Name of the header."""

PLANES = "NPU_DMA_PLANES"
"""The macro with which the header knows bit planes."""

LOCAL_NAMES = ("dram", "dma", "off_chip")
"""Names of parameters and pointers that every function of such a program may have."""


def runtime() -> str:
    """The text of the header."""
    return joined("npu_dma")


def joined(folder_name: str) -> str:
    """The text of a C file that is written in parts, in the order of their names.

    A part begins with a comment about itself, which ends at the first empty line and is not in the
    text. There is an empty line between two parts.
    """
    folder = files("npu_passes.emit.c") / "runtime" / folder_name
    parts = sorted(
        (part for part in folder.iterdir() if part.is_file()), key=lambda part: part.name
    )
    return "\n".join(part.read_text(encoding="utf-8").partition("\n\n")[2] for part in parts)


def reserved_names(prefix: str) -> frozenset[str]:
    """The names that npu_dma.h defines.

    Raises: PassFailedException if the program's own header would have the same file name.
    """
    if f"{prefix}.h".lower() == RUNTIME:
        raise PassFailedException(f"c: prefix {prefix!r} is taken by {RUNTIME}, expected another")
    return frozenset(re.findall(r"\bnpu_dma\w*", runtime(), re.IGNORECASE))


def uses_engine(public: Sequence[FuncOp], graph: CallGraph) -> bool:
    """Whether a program has transfers, or arguments or buffers off the chip."""
    effects = [graph.effects[function] for function in public]
    return any(each.dma or each.dram for each in effects) or any(
        isa(type_, MemRefType) and isinstance(type_.memory_space, DramSpace)
        for function in public
        for type_ in function.function_type.inputs
    )


def shapes_of(graph: CallGraph, prefix: str, scope: Scope) -> dict[Runs, str]:
    """The different shapes of a program's transfers, each with the name of its table."""
    shapes: dict[Runs, str] = {}
    for op in graph.ops_of(dma.StartOp):
        if (runs := transfer_runs(op)) not in shapes:
            counts = "x".join(str(axis.count) for axis in runs.axes)
            what = f"{counts}_runs" if counts else "run"
            shapes[runs] = scope.fresh(f"{prefix}_{what}_of_{runs.bytes}")
    return shapes


def blocks_of(graph: CallGraph, prefix: str, scope: Scope) -> dict[BlockRuns, str]:
    """The blocks of a program's transfers in blocks, each with the name of its table."""
    found: dict[BlockRuns, str] = {}
    for op in graph.ops_of(dma.StartOp):
        if (runs := transfer_blocks(op)) is not None and runs not in found:
            part = "x".join(map(str, runs.part))
            what = "planes" if runs.planes else "blocks"
            found[runs] = scope.fresh(f"{prefix}_{what}_of_{part}")
    return found


def block_tables(blocks: dict[BlockRuns, str]) -> Iterator[str]:
    """The definitions of the tables of `blocks_of`, if there are any."""
    for runs, name in blocks.items():
        axes = ", ".join(
            f"{{{', '.join(map(str, axis))}}}"
            for axis in (runs.map, runs.part, runs.chip, runs.dram)
        )
        yield f"static const npu_dma_blocks {name} = {{\n"
        yield f"    {runs.element}, {runs.block}, {runs.zero}, {axes}, {int(runs.planes)}}};\n"
    if blocks:
        yield "\n"


def tables(shapes: dict[Runs, str]) -> Iterator[str]:
    """The definitions of the tables of `shapes_of`, if there are any."""
    if shapes:
        yield "/* What transfers move: bytes of a run; along each axis the number of steps, and\n"
        yield " * the bytes of a step in the target and in the source. */\n"
    for runs, name in shapes.items():
        axes = [f"{{{axis.count}, {axis.target}, {axis.source}}}" for axis in runs.axes]
        steps = ", ".join(axes or ["{0, 0, 0}"])
        yield f"static const npu_dma_shape {name} = {{{runs.bytes}, {len(axes)}, {{{steps}}}}};\n"
    if shapes:
        yield "\n"
