"""The named pipelines, as plain texts of passes.

`--pass-pipeline` accepts each text, so a user can copy one, change it, and run it. In the text of a
pipeline, a name stands for its passes (`-p 'unlu2020,canonicalize'`).

A pipeline starts after the import, from a graph of layers on tensors with its machine. It ends at
loops, which `-t c` prints as C; only `kim2019` ends with a plan.
"""

from __future__ import annotations

from typing import NamedTuple

from npu_dialect.machine import Machine


class Pipeline(NamedTuple):
    """The text of a pipeline, and what it is for."""

    text: str
    summary: str


START = (
    "npu-split-conv-transpose,npu-fold-picks,npu-fuse-normalizations,npu-fold-batch-norm,"
    "npu-merge-layers"
)
"""Split, find, fold and merge layers."""


def road(
    fusion: str, strategy: str, concat: str = "", code: str = "", *, overlays: bool = False
) -> str:
    """The text of the passes from a graph of layers to loops, for a machine without DMA.

    `fusion`, `concat` and `code` are passes to insert, or empty. `strategy` is that of
    `npu-assign-sram-offsets`. With `overlays`, outputs overwrite what their layers have read.
    """
    passes = (
        START,
        fusion,
        "npu-bufferize",
        concat,
        "npu-choose-kernels,npu-choose-flash,npu-overlay-maps" if overlays else "",
        "npu-assign-memories" + "{sharing=false}" * (strategy == "none"),
        "npu-tile-slow-maps" if overlays else "",
        f"npu-assign-sram-offsets{{strategy={strategy}}}",
        "npu-turn-layers" if overlays else "",
        "npu-outline-layers",
        code and "npu-share-functions{before-lowering=true}",
        "npu-lower-to-loops",
        code and "npu-share-constants",
        code,
        "npu-check-overlays" if overlays else "",
        "npu-store-constants",
        "npu-outline-rows",
    )
    return ",".join(step for step in passes if step)


FUSE = "npu-fuse-conv-relu-pool{overlap=line-buffer},npu-fold-zero-points"

SUMS = "npu-fuse-additions,npu-fuse-activations"
"""Fuse additions, and activations behind additions."""

ORDER = "npu-order-layers"
"""Run the layers in the order that needs the least memory."""

FREE_REGIONS = "npu-fuse-regions{max-slowdown=1 overlays=true}"
"""Run layers row by row where that takes about as many instructions."""

REGIONS = "npu-fuse-regions{overlays=true top-rows=true},npu-fuse-rows{when=smallest overlays=true}"
"""Run layers row by row: regions with sums, then chains of what cannot be in a region."""

BYTES = "npu-concat-in-place,npu-choose-layouts,npu-transpose-in-place"
"""Choose where maps are stored: slices of concatenations, layouts with channels last, and views of
transposed maps."""

CLOSE = (
    BYTES.replace("npu-choose-layouts", "npu-choose-layouts{rows=true},npu-relayout-inputs")
    + ",npu-reorder-inputs"
)
"""The same, inputs in the layout of the kernels, and float maps and inputs at the memory peak row
by row, so that outputs can follow."""

SHARE = "npu-share-functions"
"""Make code smaller."""


def off_chip(
    order: str = "",
    tails: str = "",
    moves: str = "",
    tile: str = "",
    blocks: str = "",
    left: str = " leave-producers=true",
) -> str:
    """The text of the passes for a machine with DMA.

    `order`, `tile` and `left` are options, `tails`, `moves` and `blocks` passes to insert; or
    empty. `left`: of the pass that chooses regions of rows.
    """
    passes = (
        START,
        FUSE,
        "npu-detect-modules",
        f"npu-reorder-branches{{order=liveness{order}}}",
        "npu-plan-modules{misfit=leave}",
        "npu-inline-modules",
        tails,
        "npu-order-layers{when=needed}",
        f"npu-fuse-regions{{when=needed{left}}}",
        "npu-fuse-rows{when=needed}",
        SUMS,
        "npu-bufferize",
        "npu-concat-in-place",
        moves,
        # A copy on chip would be stored as a whole, with its zero blocks.
        "" if blocks else "npu-split-lives,npu-slide-maps",
        "npu-spill-maps" if blocks else "npu-spill-maps,npu-keep-maps",
        "npu-keep-parts",
        "npu-gather-readers",
        f"npu-tile-loops{tile}",
        blocks,
        "npu-overlap-rows",
        "npu-double-buffer",
        "npu-unroll-loops",
        "npu-assign-memories",
        "npu-assign-sram-offsets{strategy=greedy}",
        "npu-prefetch",
        "npu-split-layers",
        "npu-split-transfers",
        "npu-assign-dram-offsets",
        "npu-outline-layers",
        "npu-lower-to-loops",
        "npu-store-constants",
    )
    return ",".join(step for step in passes if step)


PIPELINES = {
    "default": Pipeline(
        road(f"{FUSE},{ORDER},{FREE_REGIONS},{SUMS}", "greedy", CLOSE, SHARE, overlays=True),
        "fuse pools, also if their windows overlap, and additions; concatenate in place; write "
        "outputs over what their layers have read; run layers row by row where that saves memory "
        "and costs about 1 % of the instructions at most; offsets for any graph",
    ),
    "rows": Pipeline(
        road(
            f"{FUSE},{ORDER},{REGIONS},{SUMS}",
            "greedy",
            CLOSE,
            SHARE,
            overlays=True,
        ),
        "as default, but the layers at the memory peak run row by row also where that costs up to "
        "10 % of the instructions",
    ),
    "unlu2020": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "ping-pong"),
        "the published method: fuse pools with stride >= kernel, two buffers in alternation",
    ),
    "fused": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "none"),
        "fuse as published, every map at an offset of its own",
    ),
    "kim2019": Pipeline(
        f"{START},npu-fuse-conv-relu-pool{{overlap=none}},npu-detect-modules,"
        "npu-reorder-branches{working-memory=stride-1-map},"
        "npu-plan-modules{working-memory=stride-1-map}",
        "plan modules of branches as published, for --plan-as i8 on a neural processor: no C",
    ),
    "off-chip": Pipeline(
        off_chip(),
        "for a machine with DMA: maps stay on chip; layers that are too large run row by row; "
        "maps that still do not fit are moved in tiles",
    ),
    "tails": Pipeline(
        off_chip(" tails=true", "npu-fuse-tails", "npu-move-maps"),
        "as off-chip, but average pools run row by row with their 1x1 convolution, and the last "
        "reader of a map overwrites it: less memory, more copying on chip",
    ),
    "zero-blocks": Pipeline(
        off_chip(
            tile="{block-size=4}",
            blocks="npu-fuse-zero-blocks,npu-compress-spills{block-size=4}",
            left="",
        ),
        "as off-chip, but maps that leave the chip are moved without their zero blocks: the same "
        "results, fewer bytes",
    ),
    "naive": Pipeline(
        road("", "none"),
        "layer by layer, every map at an offset of its own",
    ),
}
"""The named pipelines, by name."""

DEFAULT = "default"
"""The pipeline that npu-compile runs unless told otherwise."""

OFF_CHIP = "off-chip"
"""The pipeline that `default` stands for if the machine has DMA channels."""

MICROCODE = "npu-lower-dma-to-pl330{blocks=core},pl330-check"
"""The passes that follow a named pipeline with transfers if the DMA engine is a PL-330."""

TRANSFERS = "npu-tile-loops"
"""The pass that only pipelines with transfers have."""


def pipeline_for(pipeline: str, machine: Machine) -> str:
    """The name or text of the pipeline to run for a machine."""
    name = OFF_CHIP if pipeline == DEFAULT and machine.dma_channels else pipeline
    moves = name in PIPELINES and TRANSFERS in PIPELINES[name].text
    return f"{name},{MICROCODE}" if moves and machine.dma_fifo_bytes else name
