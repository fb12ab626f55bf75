"""The inputs and outputs of a function when it is run: its ports, by name.

- Tensors: the arguments are inputs, the results are outputs.
- Memrefs with `sram.input` or `dram.input` are inputs; those with `sram.output` or `dram.output`
  are outputs.
- Other memrefs are inputs. If no argument has one of these attributes, all memrefs are outputs too,
  as the function leaves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.arguments import argument_attributes, is_input, is_output
from npu_dialect.attributes import PORT
from npu_dialect.interpreters.values import Array, dtype_of, poisoned, scalar_of, static_shape
from npu_dialect.npu.maps import Map


@dataclass(frozen=True)
class Port:
    """An input or output of a function: its name, its type, and its position in the arguments.

    The position of a result is None.
    """

    name: str
    type: Attribute
    argument: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return static_shape(self.type) if isa(self.type, Map) else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of the array."""
        return dtype_of(self.type.get_element_type() if isa(self.type, Map) else self.type)

    def value(self, array: Array) -> Any:
        """A copy of an array as the value of this argument; uint8 holds False and True as 0 and 1.

        Raises: InterpretationError if the array has another shape or element type.
        """
        if array.dtype == np.bool_ and self.dtype == np.uint8:
            array = array.astype(np.uint8)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise InterpretationError(
                f"{self.name}: expected {self.dtype} of shape {list(self.shape)}, "
                f"got {array.dtype} of shape {list(array.shape)}"
            )
        if not isa(self.type, Map):
            return scalar_of(self.type, array.item())
        value = poisoned(self.type)
        value[...] = array
        return value

    def random(self, generator: np.random.Generator) -> Array:
        """A random array: floats of the standard normal distribution, or integers from 0 to 9."""
        if self.dtype.kind == "f":
            return np.asarray(generator.standard_normal(self.shape)).astype(self.dtype)
        return np.asarray(generator.integers(0, 10, self.shape)).astype(self.dtype)


@dataclass(frozen=True)
class Signature:
    """The ports of a function."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @staticmethod
    def of(function: FuncOp) -> Signature:
        """The ports of a function; those without a name are `input0`, ..., `output0`, ..."""
        marks = [argument_attributes(argument) for argument in function.args]
        marked = any(is_input(mark) or is_output(mark) for mark in marks)
        inputs: list[Port] = []
        outputs: list[Port] = []
        for type_, mark in zip(
            function.function_type.outputs.data, result_attributes(function), strict=True
        ):
            outputs.append(Port(name_of(mark, f"output{len(outputs)}"), type_))
        for index, (argument, mark) in enumerate(zip(function.args, marks, strict=True)):
            if is_input(mark) or not is_output(mark):
                inputs.append(Port(name_of(mark, f"input{len(inputs)}"), argument.type, index))
            if is_output(mark) if marked else isinstance(argument.type, MemRefType):
                outputs.append(Port(name_of(mark, f"output{len(outputs)}"), argument.type, index))
        return Signature(tuple(inputs), tuple(outputs))


def find_function(module: ModuleOp, name: str | None) -> FuncOp:
    """The function of this name; without a name, the only public one that has a body.

    Raises: InterpretationError if there is none, or if several are public; it lists their names.
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


def name_of(attributes: Mapping[str, Attribute], other: str) -> str:
    """The `npu.name` of a port, or `other` if it has none."""
    return PORT.of(attributes) or other


def result_attributes(function: FuncOp) -> Sequence[Mapping[str, Attribute]]:
    """The attributes of each result."""
    if function.res_attrs is None:
        return [{} for _ in function.function_type.outputs.data]
    return [attributes.data for attributes in function.res_attrs.data]
