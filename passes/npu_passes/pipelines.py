"""The named pipelines: plain pass-pipeline strings, in one place.

Each is what `--pass-pipeline` takes, so a person can copy one, change it, and run it; a name may
also stand inside a pipeline text in place of the passes it means (`-p 'unlu2020,canonicalize'`).

They start behind the import (a graph of layers on tensors, with its machine) and end at loops,
which is what `-t c` prints.
"""

from __future__ import annotations

from typing import NamedTuple


class Pipeline(NamedTuple):
    """A pipeline and what it is for."""

    text: str
    summary: str


def road(fusion: str, strategy: str) -> str:
    """The passes from a graph of layers to loops: a fusion step (or none), an offset strategy."""
    passes = (
        "npu-fold-batch-norm",
        fusion,
        "npu-bufferize",
        f"npu-assign-sram-offsets{{strategy={strategy}}}",
        "npu-outline-layers",
        "npu-lower-to-loops",
    )
    return ",".join(step for step in passes if step)


PIPELINES = {
    "default": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=line-buffer}", "greedy"),
        "fuse, also where pooling windows overlap; offsets for any graph",
    ),
    "rows": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=line-buffer},npu-fuse-rows{when=always}", "greedy"),
        "as default, and chains run row by row: a few rows of each map between them are on chip",
    ),
    "unlu2020": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "ping-pong"),
        "the published method: fuse pools with stride >= kernel, two buffers in turns",
    ),
    "fused": Pipeline(
        road("npu-fuse-conv-relu-pool{overlap=none}", "none"),
        "fuse as published, every map in a place of its own",
    ),
    "naive": Pipeline(
        road("", "none"),
        "layer by layer, every map in a place of its own",
    ),
}
"""The named pipelines, by name."""

DEFAULT = "default"
"""The pipeline that npu-compile runs unless told otherwise."""
