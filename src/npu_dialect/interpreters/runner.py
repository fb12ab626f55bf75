"""Runs one function of a module on numpy arrays, at any level of IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.interpreters.arith import scalar_functions
from npu_dialect.interpreters.dma import Counters, DmaFunctions
from npu_dialect.interpreters.dram import DramFunctions
from npu_dialect.interpreters.dsp import DspFunctions
from npu_dialect.interpreters.func import FuncFunctions
from npu_dialect.interpreters.memref import MemrefFunctions
from npu_dialect.interpreters.mve import vector_functions
from npu_dialect.interpreters.npu import NpuFunctions
from npu_dialect.interpreters.scf import LoopFunctions
from npu_dialect.interpreters.signature import Signature, find_function
from npu_dialect.interpreters.sram import SramFunctions
from npu_dialect.interpreters.structure import StructureFunctions
from npu_dialect.interpreters.values import Array, poisoned


def register_implementations(interpreter: Interpreter) -> None:
    """Register our dialects, and those to which they are lowered, with an interpreter."""
    for functions in (
        DmaFunctions(),
        DramFunctions(),
        DspFunctions(),
        FuncFunctions(),
        LoopFunctions(),
        MemrefFunctions(),
        NpuFunctions(),
        SramFunctions(),
        StructureFunctions(),
        scalar_functions(),
        vector_functions(),
    ):
        interpreter.register_implementations(functions)


def run_function(
    module: ModuleOp,
    name: str | None,
    inputs: Sequence[Array],
    counters: Counters | None = None,
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Array, ...]:
    """Run a function and return its outputs; without a name, the only public one of the module.

    `signature.py` defines the inputs and outputs of a function. The inputs are not changed. Traffic
    of transfers is added to `counters`; `listeners` see every op.

    Raises: InterpretationError if the function does not exist, if the number, shapes or element
        types of the inputs are wrong, or if an op fails.
    """
    function = find_function(module, name)
    signature = Signature.of(function)
    if len(inputs) != len(signature.inputs):
        raise InterpretationError(
            f"{function.sym_name.data}: expected {len(signature.inputs)} inputs, got {len(inputs)}"
        )
    values: dict[int | None, Any] = {}
    for port, array in zip(signature.inputs, inputs, strict=True):
        values[port.argument] = port.value(array)
    for index, type_ in enumerate(function.function_type.inputs.data):
        if index not in values:
            assert isa(type_, MemRefType)
            values[index] = poisoned(type_)
    interpreter = Interpreter(module, listeners=tuple(listeners))
    register_implementations(interpreter)
    if counters is not None:
        interpreter.set_data(DmaFunctions, "counters", counters)
    with np.errstate(all="ignore"):
        args = tuple(values[index] for index in range(len(values)))
        results = interpreter.call_op(function, args)
    written = [values[port.argument] for port in signature.outputs if port.argument is not None]
    return tuple(np.asarray(array) for array in (*results, *written))
