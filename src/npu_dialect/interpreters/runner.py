"""Running one function of a module on numpy arrays, at any stop of the road.

- tensors: the inputs are the arguments, the outputs the results;
- memrefs with `sram.input` and `sram.output`: inputs fill the former, outputs are the latter;
- other memrefs: all are inputs, and all are outputs as the function left them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.interpreters.arith import scalar_functions
from npu_dialect.interpreters.func import FuncFunctions, argument_attributes
from npu_dialect.interpreters.memref import MemrefFunctions
from npu_dialect.interpreters.npu import NpuFunctions
from npu_dialect.interpreters.scf import LoopFunctions
from npu_dialect.interpreters.sram import SramFunctions
from npu_dialect.interpreters.values import Array, dtype_of, poisoned, scalar_of, static_shape
from npu_dialect.npu.layer import Map
from npu_dialect.sram import INPUT, OUTPUT

NAME = "npu.name"
"""Argument and result attribute: the name in the model that the function comes from."""


def register_implementations(interpreter: Interpreter) -> None:
    """Give an interpreter the meaning of npu and sram, and of the ops they are lowered to."""
    for functions in (
        FuncFunctions(),
        LoopFunctions(),
        MemrefFunctions(),
        NpuFunctions(),
        SramFunctions(),
        scalar_functions(),
    ):
        interpreter.register_implementations(functions)


def run_function(module: ModuleOp, name: str | None, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Run a function; without a name, the only public one of the module.

    The inputs are not changed.

    Raises: InterpretationError for a function that does not exist, for inputs of another number,
    shape or element type than it takes, and for what goes wrong while it runs.
    """
    function = find_function(module, name)
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    arguments, outputs = bind(function, inputs)
    with np.errstate(all="ignore"):
        results = interpreter.call_op(function, tuple(arguments))
    return (*(np.asarray(result) for result in results), *(arguments[index] for index in outputs))


def find_function(module: ModuleOp, name: str | None) -> FuncOp:
    """The function of this name; without a name, the only public one that has a body.

    Raises: InterpretationError with the names that exist.
    """
    functions = [op for op in module.body.ops if isinstance(op, FuncOp) and not op.is_declaration]
    if name is None:
        found = [op for op in functions if op.sym_visibility != StringAttr("private")]
    else:
        found = [op for op in functions if op.sym_name.data == name]
    if len(found) == 1:
        return found[0]
    wanted = "one public function" if name is None else f"a function @{name}"
    names = ", ".join(f"@{op.sym_name.data}" for op in (found or functions))
    raise InterpretationError(f"expected {wanted}, the module has {names or 'no functions'}")


def input_indices(function: FuncOp) -> list[int]:
    """Which arguments take the inputs of a run."""
    attributes = argument_attributes(function)
    return [
        index for index, marks in enumerate(attributes) if INPUT in marks or OUTPUT not in marks
    ]


def output_indices(function: FuncOp) -> list[int]:
    """Which arguments give the outputs of a run, after the function's results."""
    attributes = argument_attributes(function)
    marked = any(INPUT in marks or OUTPUT in marks for marks in attributes)
    kinds = function.function_type.inputs.data
    return [
        index
        for index, (kind, marks) in enumerate(zip(kinds, attributes, strict=True))
        if (OUTPUT in marks if marked else isinstance(kind, MemRefType))
    ]


def bind(function: FuncOp, inputs: Sequence[Array]) -> tuple[list[Any], list[int]]:
    """The arguments of a call, and which of them are outputs.

    Raises: InterpretationError for inputs that do not go with the function.
    """
    name, taken = function.sym_name.data, input_indices(function)
    if len(inputs) != len(taken):
        raise InterpretationError(f"{name}: expected {len(taken)} inputs, got {len(inputs)}")
    given = dict(zip(taken, inputs, strict=True))
    arguments: list[Any] = []
    for index, kind in enumerate(function.function_type.inputs.data):
        if index in given:
            label = input_label(function, index)
            arguments.append(argument(f"{name}: {label}", kind, given[index]))
        else:
            assert isa(kind, MemRefType)
            arguments.append(poisoned(kind))
    return arguments, output_indices(function)


def input_label(function: FuncOp, index: int) -> str:
    """What to call an argument in a message."""
    name = argument_attributes(function)[index].get(NAME)
    return name.data if isinstance(name, StringAttr) else f"argument {index}"


def argument(label: str, kind: Attribute, value: Array) -> Any:
    """A copy of an input as the value of an argument.

    Raises: InterpretationError for another shape or element type.
    """
    if isa(kind, Map):
        shape, dtype = static_shape(kind), dtype_of(kind.get_element_type())
    else:
        shape, dtype = (), dtype_of(kind)
    if value.shape != shape or value.dtype != dtype:
        raise InterpretationError(
            f"{label}: expected {dtype} of shape {list(shape)}, "
            f"got {value.dtype} of shape {list(value.shape)}"
        )
    return value.copy() if isa(kind, Map) else scalar_of(kind, value.item())
