"""What a function says of its arguments and results: a dictionary of attributes for each.

    func.func @run(%x: memref<1x3x8x8xi8, #npu.sram> {npu.name = "image", sram.input}) { ... }

The keys are those of `attributes.py`: `PORT.of(argument_attributes(%x)) == "image"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_dialect.attributes import DRAM_INPUT, DRAM_OUTPUT, SRAM_INPUT, SRAM_OUTPUT

Attributes: TypeAlias = Mapping[str, Attribute]


def argument_attributes(value: SSAValue) -> Attributes:
    """The attributes that a function gives to an argument; none for any other value."""
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if function is None or not isinstance(value, BlockArgument):
        return {}
    found = attributes_of_arguments(function)
    return found[value.index] if value.index < len(found) else {}


def attributes_of_arguments(function: Operation) -> Sequence[Attributes]:
    """The attributes of each argument of a function of any dialect; empty if it keeps none."""
    every = function.properties.get("arg_attrs")
    if not isinstance(every, ArrayAttr):
        return ()
    items = cast(ArrayAttr[Attribute], every).data  # `isa` of all items would be slow
    return [item.data if isinstance(item, DictionaryAttr) else {} for item in items]


def is_input(attributes: Attributes) -> bool:
    """Whether an argument is marked as an input of the network."""
    return SRAM_INPUT.is_in(attributes) or DRAM_INPUT.is_in(attributes)


def is_output(attributes: Attributes) -> bool:
    """Whether an argument is marked as an output of the network."""
    return SRAM_OUTPUT.is_in(attributes) or DRAM_OUTPUT.is_in(attributes)
