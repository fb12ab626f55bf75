"""Lossless codes for int8 maps, compared on a network's own maps.

    python bench/lossless_codes.py model_int8.onnx data.npz

The network is interpreted on the first sample of data.npz. The table has the bytes of one access to
each map behind a ReLU, with the index, in percent of the maps as they are. Each code works on
blocks of so many rows and columns, alone:

- zeros: blocks of zeros do not move; one bit of the index
- flags: bit planes that are not all zero; a bit of the index for each
- planes: bit planes from the lowest to the highest that is not all zero; four bits of the index
- mask: a bit for each byte that is not zero, and these bytes; one bit of the index
- both: planes, or the mask and planes of the bytes that are not zero; four bits of the index
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from npu_dialect.interpreters import Signature, find_function, run_function
from npu_dialect.interpreters.planes import folded
from npu_dialect.npu.layer import LayerOp
from npu_passes.zero_blocks.prune_zero_blocks import ends_with_relu
from npu_passes.zero_blocks.spilled_maps import middle_of, zero_of
from npu_plans.zero_blocks.codes import plane_zero
from npu_tools.importers.frontends import load
from npu_tools.reports.zero_block_input import samples
from npu_tools.reports.zero_block_maps import is_map, prepare

Array = NDArray[Any]
SHAPES = ((4, 4), (8, 8), (2, 8), (1, 8), (1, 16), (1, 32))
CODES = ("zeros", "flags", "planes", "mask", "both")


class Maps(Interpreter.Listener):
    """Collects the maps of bytes behind ReLUs, as differences from their zero."""

    def __init__(self) -> None:
        self.found: list[Array] = []

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Note the result of a layer with a ReLU."""
        if isinstance(op, LayerOp) and is_map(op) and ends_with_relu(op):
            middle, array = middle_of(op.output_type), results[0]
            if middle is not None:
                zero = plane_zero(zero_of(op) or 0, middle)
                self.found.append((array.astype(np.int16) - zero).astype(np.uint8))


def blocks_of(array: Array, rows: int, columns: int) -> Iterator[Array]:
    """The blocks of a map, as arrays [blocks, elements] of one size each."""
    bottom, right = (
        extent - extent % unit for extent, unit in zip(array.shape[2:], (rows, columns))
    )
    for part in (
        *(array[:, :, :bottom, :right], array[:, :, :bottom, right:]),
        *(array[:, :, bottom:, :right], array[:, :, bottom:, right:]),
    ):
        high, wide = (min(unit, n) for unit, n in zip((rows, columns), part.shape[2:]))
        if part.size:
            counts = part.shape[2] // high, part.shape[3] // wide
            split = part.reshape(*part.shape[:2], counts[0], high, counts[1], wide)
            yield split.transpose(0, 1, 2, 4, 3, 5).reshape(-1, high * wide)


def highest(blocks: Array) -> Array:
    """The number of planes of each block, up to the highest bit that is set."""
    return np.frexp(np.bitwise_or.reduce(blocks, axis=1).astype(np.float64))[1]


def sizes(blocks: Array) -> list[float]:
    """The bytes of some blocks by each code."""
    count, elements = blocks.shape
    plane, nonzero = -(-elements // 8), np.count_nonzero(blocks, axis=1)
    flags = np.bitwise_count(np.bitwise_or.reduce(blocks, axis=1)).astype(np.int64)
    number = np.minimum(highest(blocks), highest(folded(blocks)))
    planes = np.minimum(number * plane, elements)
    full = nonzero > 0
    masked = np.minimum(plane + -(-nonzero * number // 8), planes)
    return [
        count / 8 + float(elements * np.count_nonzero(full)),
        count + float(np.minimum(flags * plane, elements).sum()),
        count / 2 + float(planes.sum()),
        count / 8 + float((full * np.minimum(plane + nonzero, elements)).sum()),
        count / 2 + float((full * masked).sum()),
    ]


def main() -> int:
    """Print the table."""
    model, data = map(Path, sys.argv[1:])
    module = load(model, {}, None).module
    prepare(module, 1, None)
    inputs = samples(data, Signature.of(find_function(module, None)).inputs)[0]
    maps = Maps()
    run_function(module, None, inputs, listeners=(maps,))
    total = sum(each.size for each in maps.found)
    print(f"{'block':<7}" + "".join(f"{code:>9}" for code in CODES))
    for rows, columns in SHAPES:
        parts = [sizes(each) for array in maps.found for each in blocks_of(array, rows, columns)]
        sums = np.sum(parts, axis=0)
        print(f"{rows} x {columns:<3}" + "".join(f"{100 * each / total:>9.1f}" for each in sums))
    return 0


if __name__ == "__main__":
    sys.exit(main())
