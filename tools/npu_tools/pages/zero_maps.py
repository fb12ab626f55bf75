"""Where the zero blocks of maps are, measured on samples: `npu-report html --zero-blocks data.npz`.

    {"layer": "conv1", "value": "pool1.out", "shape": [1, 6, 14, 14], "sparsity": 0.31,
     "bytes_before": 4704, "bytes_after": 3310, "grid": [[0, 33, 100], ...]}

A number of the grid says for one block position in how many percent of the channels, over all
samples, the block is zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npu_dialect.interpreters import Signature, find_function
from npu_tools.compiling.driver import Job
from npu_tools.importers.frontends import load
from npu_tools.reports.zero_block_input import samples
from npu_tools.reports.zero_block_maps import BlockMap, measure, prepare
from npu_tools.shared.errors import UserError

BLOCK = 4
"""The side of a block in elements."""
NO_MAP = f"expected a map with at least {BLOCK} rows or columns"


def zero_maps(job: Job, data: Path) -> list[dict[str, Any]]:
    """Run the network of a job on samples; returns the zero blocks of its maps.

    Raises: UserError if the samples do not fit the network, if it has no map, or if it cannot be
    run; OSError if the file cannot be read.
    """
    module = load(job.model, job.input_dims, job.functions).module
    ports = Signature.of(find_function(module, None)).inputs
    inputs = samples(data, ports)
    try:
        prepare(module, BLOCK, None)
    except UserError as error:  # its message may name an option of npu-report zero-blocks
        message = re.sub("^--block-size.*", NO_MAP, str(error))
        raise UserError(f"--zero-blocks: {message}") from None
    return rows_of(measure(module, inputs, BLOCK))


def rows_of(maps: Sequence[BlockMap]) -> list[dict[str, Any]]:
    """The rows of maps that are at least as large as a block."""
    return [
        {
            "layer": each.layer,
            "value": each.value,
            "shape": list(each.shape),
            "relu": each.relu,
            "sparsity": each.zero_blocks / max(1, each.blocks),
            "bytes_before": each.bytes_before,
            "bytes_after": each.bytes_after,
            "grid": (100 * (1 - each.kept.mean(axis=(0, 1)))).round().astype(int).tolist(),
        }
        for each in maps
        if max(each.shape[2:]) >= each.block
    ]
