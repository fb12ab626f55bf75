"""The shares of zeros in the maps of floats that layers read, measured in one run. Pure reading.

Level of IR: between `npu-outline-layers` and `npu-lower-to-loops`. The program is interpreted once,
on random numbers: floats of the standard normal distribution.

    func.call @fire3_expand(%x, %w, %b, %y) {npu.layer = ...} : ...    // (0.98, 0.0, 0.0, 0.0)

A channel that its bias or its weights keep below zero is all zeros behind ReLU, whatever the input
is. So one run tells what the loops do not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.attributes import LAYER
from npu_dialect.computing import Computation, computation_of, is_computed_on_buffers
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.signature import Signature, find_function
from npu_dialect.npu.maps import Map
from npu_dialect.walking import walk_kind

SEED = 1
"""The seed of the random input."""
DIGITS = 3
"""The decimals of a share."""


def measured_zeros(module: ModuleOp) -> dict[CallOp, tuple[float, ...]]:
    """For each call of a layer that reads floats, the share of zeros in each argument.

    The share is 0 for arguments that are not read and for those that are no floats. Nothing is
    measured if no layer computes floats from floats, or if the program cannot be interpreted.
    """
    layers = outlined_layers(module)
    read = {call: places for call, layer in layers.items() if (places := read_floats(layer))}
    if not any(is_float(layers[call].op.operands[-1]) for call in read):
        return {}
    counter = ZeroCounter(read)
    try:
        inputs = Signature.of(find_function(module, None)).inputs
        random = np.random.default_rng(SEED)
        run_function(module, None, [port.random(random) for port in inputs], listeners=(counter,))
    except InterpretationError:
        return {}
    return {call: counter.shares(call) for call in counter.counts}


def outlined_layers(module: ModuleOp) -> dict[CallOp, Computation]:
    """The layer that each call runs; calls of functions without one are left out."""
    functions = {op.sym_name.data: op for op in walk_kind(module, FuncOp) if not op.is_declaration}
    found: dict[CallOp, Computation] = {}
    for call in walk_kind(module, CallOp):
        function = functions.get(call.callee.string_value())
        if function is not None and LAYER.is_on(call) and len(function.body.blocks) == 1:
            ops = filter(is_computed_on_buffers, function.body.block.ops)
            found.update({call: layer for layer in map(computation_of, ops) if layer is not None})
    return found


def read_floats(layer: Computation) -> frozenset[int]:
    """The positions of the arguments with floats that an outlined layer reads."""
    arguments = (value for value in layer.inputs if isinstance(value, BlockArgument))
    return frozenset(value.index for value in arguments if is_float(value))


def is_float(buffer: SSAValue) -> bool:
    """Whether a buffer has floats."""
    return isa(buffer.type, Map) and isinstance(buffer.type.get_element_type(), AnyFloat)


@dataclass
class ZeroCounter(Interpreter.Listener):
    """Counts the zeros in the arguments of calls, over all runs of a call.

    `places` are the positions to look at. `counts` are the zeros and the elements of each.
    """

    places: Mapping[CallOp, frozenset[int]]
    counts: dict[CallOp, dict[int, tuple[int, int]]] = field(
        default_factory=dict[CallOp, dict[int, tuple[int, int]]]
    )

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Count in the arguments of a call."""
        if not isinstance(op, CallOp):
            return
        for place in self.places.get(op, ()):
            counts = self.counts.setdefault(op, {})
            zeros, elements = counts.get(place, (0, 0))
            array = np.asarray(args[place])
            zeros += array.size - int(np.count_nonzero(array))
            counts[place] = (zeros, elements + array.size)

    def shares(self, call: CallOp) -> tuple[float, ...]:
        """The share of zeros in each argument of a call."""
        counts = self.counts[call]
        pairs = (counts.get(place, (0, 0)) for place in range(len(call.arguments)))
        return tuple(round(zeros / max(elements, 1), DIGITS) for zeros, elements in pairs)
