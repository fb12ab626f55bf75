"""What a function says of its arguments and results: a dictionary of attributes for each.

    func.func @run(%x: memref<1x3x8x8xi8, #npu.sram> {npu.name = "image", sram.input}) { ... }

The keys are those of `attributes.py`: `PORT.of(argument_attributes(%x)) == "image"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_dialect.attributes import DRAM_INPUT, DRAM_OUTPUT, SRAM_INPUT, SRAM_OUTPUT, STATE
from npu_dialect.stream_attributes import STREAM

Attributes: TypeAlias = Mapping[str, Attribute]


def argument_attributes(value: SSAValue) -> Attributes:
    """The attributes that a function gives to an argument; none for any other value."""
    if not isinstance(value, BlockArgument) or (function := value.owner.parent_op()) is None:
        return {}
    items = items_of(function)
    return attributes_in(items[value.index]) if value.index < len(items) else {}


def attributes_of_arguments(function: Operation) -> Sequence[Attributes]:
    """The attributes of each argument of a function of any dialect; empty if it keeps none."""
    return [attributes_in(item) for item in items_of(function)]


def items_of(function: Operation) -> Sequence[Attribute]:
    """What a function keeps for each argument; `isa` of all of them would be slow."""
    every = function.properties.get("arg_attrs")
    return cast(ArrayAttr[Attribute], every).data if isinstance(every, ArrayAttr) else ()


def attributes_in(item: Attribute) -> Attributes:
    """The entries of a dictionary; none for another attribute."""
    return item.data if isinstance(item, DictionaryAttr) else {}


def is_state(attributes: Attributes) -> bool:
    """Whether an argument or result is marked as a state, kept from one run to the next."""
    return STATE.is_in(attributes)


def is_input(attributes: Attributes) -> bool:
    """Whether an argument is marked as an input of the network; a state is one, too."""
    return any(key.is_in(attributes) for key in (SRAM_INPUT, DRAM_INPUT, STREAM))


def is_streamed(attributes: Attributes) -> bool:
    """Whether an argument is an input whose rows arrive one at a time."""
    return STREAM.is_in(attributes)


def is_output(attributes: Attributes) -> bool:
    """Whether an argument is marked as an output of the network; a state is one, too."""
    return SRAM_OUTPUT.is_in(attributes) or DRAM_OUTPUT.is_in(attributes)
