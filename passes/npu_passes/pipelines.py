"""The named pipelines: plain pass-pipeline strings, in one place.

Each is what `--pass-pipeline` takes, so a person can copy one, change it, and run it; a name may
also stand inside a pipeline text in place of the passes it means (`-p 'unlu2020,canonicalize'`).

They start behind the import (a graph of layers on tensors, with its machine) and end at loops,
which is what `-t c` prints; but for `kim2019`, which ends with a plan.
"""

from __future__ import annotations

from typing import NamedTuple

from npu_dialect.machine import Machine


class Pipeline(NamedTuple):
    """A pipeline and what it is for."""

    text: str
    summary: str


def road(fusion: str, strategy: str, concat: str = "", code: str = "") -> str:
    """The passes from a graph of layers to loops.

    `fusion`, `concat` and `code` are steps, or nothing; `strategy` is how offsets are found.
    """
    passes = (
        "npu-fold-batch-norm",
        fusion,
        "npu-bufferize",
        concat,
        f"npu-assign-sram-offsets{{strategy={strategy}}}",
        "npu-outline-layers",
        "npu-lower-to-loops",
        code,
    )
    return ",".join(step for step in passes if step)


FUSE = "npu-fuse-conv-relu-pool{overlap=line-buffer},npu-fold-zero-points"

SUMS = "npu-fuse-additions,npu-fuse-activations"
"""What is computed where it is stored."""

BYTES = "npu-concat-in-place,npu-choose-layouts"
"""Where maps lie on chip."""

SHARE = "npu-share-functions"
"""How code gets smaller."""


def off_chip(
    order: str = "", tails: str = "", moves: str = "", tile: str = "", blocks: str = ""
) -> str:
    """The passes for a machine with DMA; the arguments are more options and steps, or nothing."""
    passes = (
        "npu-fold-batch-norm",
        FUSE,
        "npu-detect-modules",
        f"npu-reorder-branches{{order=liveness{order}}}",
        "npu-plan-modules{misfit=leave}",
        "npu-inline-modules",
        tails,
        "npu-fuse-rows{when=needed}",
        SUMS,
        "npu-bufferize",
        "npu-concat-in-place",
        moves,
        "npu-spill-maps",
        f"npu-tile-loops{tile}",
        blocks,
        "npu-double-buffer",
        "npu-assign-sram-offsets{strategy=greedy}",
        "npu-assign-dram-offsets",
        "npu-outline-layers",
        "npu-lower-to-loops",
    )
    return ",".join(step for step in passes if step)


PIPELINES = {
    "default": Pipeline(
        road(f"{FUSE},{SUMS}", "greedy", BYTES, SHARE),
        "fuse, also where pooling windows overlap, and additions; concatenate in place; offsets "
        "for any graph",
    ),
    "rows": Pipeline(
        road(f"{FUSE},npu-fuse-rows{{when=smallest}},{SUMS}", "greedy", BYTES, SHARE),
        "as default, and the layers that set the peak run row by row, with a few rows between them",
    ),
    "unlu2020": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "ping-pong"),
        "the published method: fuse pools with stride >= kernel, two buffers in turns",
    ),
    "fused": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "none"),
        "fuse as published, every map in a place of its own",
    ),
    "kim2019": Pipeline(
        "npu-fold-batch-norm,npu-fuse-conv-relu-pool{overlap=none},npu-detect-modules,"
        "npu-reorder-branches{working-memory=stride-1-map},"
        "npu-plan-modules{working-memory=stride-1-map}",
        "plan modules of branches as published, for --plan-as i8 on a neural processor: no C",
    ),
    "off-chip": Pipeline(
        off_chip(),
        "for a machine with DMA: maps stay on chip, those of layers that are too large as rows; "
        "what cannot stay is moved in tiles",
    ),
    "tails": Pipeline(
        off_chip(" tails=true", "npu-fuse-tails", "npu-move-maps"),
        "as off-chip, and average pools run row by row with their 1x1 convolution, and the last "
        "reader of a map takes its place: less memory, more copying on chip",
    ),
    "zero-blocks": Pipeline(
        off_chip(
            tile="{block-size=4}", blocks="npu-fuse-zero-blocks,npu-compress-spills{block-size=4}"
        ),
        "as off-chip, and maps that leave the chip move without their zero blocks: the same "
        "results, fewer bytes",
    ),
    "naive": Pipeline(
        road("", "none"),
        "layer by layer, every map in a place of its own",
    ),
}
"""The named pipelines, by name."""

DEFAULT = "default"
"""The pipeline that npu-compile runs unless told otherwise."""

OFF_CHIP = "off-chip"
"""What `default` means for a machine with memory that only its DMA engine reaches."""

MICROCODE = "npu-lower-dma-to-pl330,pl330-check"
"""What follows where the DMA engine is a PL-330."""


def pipeline_for(pipeline: str, machine: Machine) -> str:
    """The name or text of the passes to run for a machine."""
    if pipeline != DEFAULT or not machine.dma_channels:
        return pipeline
    return f"{OFF_CHIP},{MICROCODE}" if machine.dma_fifo_bytes else OFF_CHIP
