"""`npu-measure-zero-blocks`: measure how much of each layer's map lies in zero blocks.

Level of IR: layers on tensors, before `npu-bufferize`; weights are constants. The network is
interpreted on calibration data. Each layer with a map [N, C, H, W] gets the share of the map's
elements that lie in blocks that are entirely zero, on average over the samples:

    %y = npu.conv2d %x, %w ... then relu {npu.layer = "c1", npu.zero_blocks = 4.375000e-01 : f64}

A map of bytes also gets `npu.bit_planes`, the bytes that it has as bit planes for each of its own.
`npu-compress-spills` chooses by these numbers how a map moves. `data` is an .npz file with an array
for each input, by the input's name in the model. The array has the shape of the input, or several
samples along the first axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.attributes import BIT_PLANES, ZERO_BLOCKS
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.planes import plane_bytes
from npu_dialect.interpreters.signature import Port, Signature, find_function
from npu_dialect.interpreters.zero_blocks import in_blocks, spread
from npu_dialect.npu.layer import LayerOp
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.zero_blocks.spilled_maps import middle_of, zero_of
from npu_plans.zero_blocks.codes import plane_zero

NAME = "npu-measure-zero-blocks"
Array = NDArray[Any]


@dataclass(frozen=True)
class MeasureZeroBlocksPass(RefusingPass):
    """Measure zero blocks on calibration data; see the module.

    Rejects a block size below 1, a file that is no .npz, and data that does not fit the inputs.
    """

    name = NAME

    data: str
    """An `.npz` file with an array for each input: one sample, or samples along the first axis."""
    block_size: int = 4
    """Rows and columns of a block."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run all samples, then write the shares."""
        if self.block_size < 1:
            raise Refusal(f"expected a block-size of at least 1, got {self.block_size}")
        try:
            ports = Signature.of(find_function(op, None)).inputs
        except InterpretationError as error:
            raise Refusal(str(error)) from None
        found = measured(op, samples(self.data, ports), self.block_size)
        for layer, (share, planes) in found.items():
            ZERO_BLOCKS.set(layer, share)
            BIT_PLANES.drop(layer)
            if planes is not None:
                BIT_PLANES.set(layer, planes)


def samples(path: str, ports: Sequence[Port]) -> list[list[Array]]:
    """The inputs of each run, one array for each port.

    Raises: PassFailedException if the file cannot be read, or its arrays do not fit the inputs.
    """
    arrays = [fitting(path, read(path), port) for port in ports]
    counts = {len(each) for each in arrays}
    if len(counts) > 1:
        raise Refusal(f"{path}: expected as many samples of every input, got {sorted(counts)}")
    return [list(each) for each in zip(*arrays, strict=True)]


def read(path: str) -> Mapping[str, Array]:
    """The arrays of an .npz file.

    Raises: PassFailedException if it cannot be read or is none.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror or 'no .npz file'}") from None
    except (AttributeError, BadZipFile, EOFError, KeyError, TypeError, ValueError):
        raise Refusal(f"{path}: expected an .npz file of numbers") from None


def fitting(path: str, arrays: Mapping[str, Array], port: Port) -> list[Array]:
    """The samples of one input.

    Raises: PassFailedException if the file has none, or if they have a wrong shape or element type.
    """
    array = arrays.get(port.name)
    if array is None:
        names = ", ".join(sorted(arrays)) or "nothing"
        raise Refusal(f"{path}: expected input '{port.name}', found {names}")
    shape = port.shape
    batches = shape[:1] == (1,) and array.shape[1:] == shape[1:] and len(array) > 0
    if array.dtype != port.dtype or (array.shape != shape and not batches):
        raise Refusal(
            f"{path}: input '{port.name}': expected {port.dtype} of shape {list(shape)}, or "
            f"samples of it along axis 0, got {array.dtype} of shape {list(array.shape)}"
        )
    return [array] if array.shape == shape else [array[i : i + 1] for i in range(len(array))]


@dataclass
class Sums:
    """Elements of a layer's maps: all, and those in zero blocks; and bytes of bit planes."""

    elements: int = 0
    zeros: int = 0
    planes: int | None = None


@dataclass
class Listener(Interpreter.Listener):
    """Sums up the maps of each layer."""

    block: int
    found: dict[LayerOp, Sums] = field(default_factory=dict[LayerOp, Sums])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Count the elements of the result if the op is a layer with a map [N, C, H, W]."""
        if not isinstance(op, LayerOp) or len(results) != 1 or np.ndim(results[0]) != 4:
            return
        sums, array = self.found.setdefault(op, Sums()), results[0]
        sums.elements += int(np.size(array))
        sums.zeros += zero_elements(array, self.block, zero_of(op) or 0)
        if (middle := middle_of(op.output_type)) is not None:
            found = plane_bytes(array, plane_zero(zero_of(op) or 0, middle))
            sums.planes = (sums.planes or 0) + found


def zero_elements(array: Array, block: int, zero: int) -> int:
    """The number of elements of a map in blocks of which every element is `zero`."""
    return int(np.count_nonzero(spread(in_blocks(array == zero, block), block, array.shape)))


def measured(
    module: ModuleOp, inputs: Sequence[Sequence[Array]], block: int
) -> dict[LayerOp, tuple[float, float | None]]:
    """What is measured for each layer with a map [N, C, H, W].

    That is the share of elements in zero blocks, from 0 to 1, and the bytes as bit planes for each
    byte, None for elements other than bytes.

    Raises: PassFailedException if the network cannot be interpreted.
    """
    listener = Listener(block)
    try:
        for sample in inputs:
            run_function(module, None, sample, listeners=(listener,))
    except InterpretationError as error:
        raise Refusal(str(error)) from None
    return {
        op: (
            sums.zeros / sums.elements,
            None if sums.planes is None else sums.planes / sums.elements,
        )
        for op, sums in listener.found.items()
        if sums.elements
    }
