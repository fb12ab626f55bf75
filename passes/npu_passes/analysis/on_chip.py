"""The on-chip buffers of one function of any dialect: their sizes, alignments and offsets.

An on-chip buffer is a memref in the on-chip memory space. It is the result of an op with an
allocation effect, from any dialect, or an argument with `sram.input` or `sram.output`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import IntegerAttr, UnrankedMemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import (
    CallableOpInterface,
    IsolatedFromAbove,
    MemoryAllocEffect,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.hints import isa

from npu_dialect import dram
from npu_dialect.arenas import is_on_chip
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import LAYER, PORT, SRAM_INPUT, SRAM_OFFSET, SRAM_OUTPUT, VALUE
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.maps import ELEMENT, element_bytes, is_buffer_type, storage_elements
from npu_dialect.sram import AllocOp
from npu_passes.support.refuse import refuse
from npu_passes.support.traits import has


def functions(module: Operation) -> Iterator[Operation]:
    """The functions with a body, of any dialect: callable ops, or isolated symbols; one region."""
    for op in module.walk():
        if has(op, SymbolTable) or len(op.regions) != 1 or not op.regions[0].blocks:
            continue
        if has(op, CallableOpInterface) or (
            has(op, SymbolOpInterface) and has(op, IsolatedFromAbove)
        ):
            yield op


def on_chip_values(function: Operation, *spaces: Attribute) -> Iterator[SSAValue]:
    """The marked arguments and the allocations of a function that lie in one of the spaces."""
    for arg in function.regions[0].blocks[0].args:
        marks = argument_attributes(arg)
        if in_space(arg, *spaces) and (SRAM_INPUT.is_in(marks) or SRAM_OUTPUT.is_in(marks)):
            yield arg
    yield from (value for value in allocated(function) if in_space(value, *spaces))


def on_chip_spaces(function: Operation) -> tuple[Attribute, ...]:
    """The on-chip memory spaces of the buffers of a function, in the order of the text.

    Only `#npu.sram` if there are no such buffers.
    """
    found: dict[Attribute, None] = {}
    for value in (*function.regions[0].blocks[0].args, *allocated(function)):
        if is_buffer_type(value.type) and is_on_chip(value.type.memory_space):
            found[value.type.memory_space] = None
    return tuple(found) or (SramSpace(),)


def allocated(function: Operation) -> Iterator[SSAValue]:
    """The results of the allocations in a function."""
    for op in function.walk():
        if has(op, MemoryAllocEffect):
            yield from op.results


def in_space(value: SSAValue, *spaces: Attribute) -> bool:
    """Whether a value is a memref in one of some memory spaces."""
    type_ = value.type
    return (
        is_buffer_type(type_) or isa(type_, UnrankedMemRefType[Attribute])
    ) and type_.memory_space in spaces


def space_of(value: SSAValue) -> Attribute | None:
    """The memory space of a buffer; None for another value."""
    return value.type.memory_space if is_buffer_type(value.type) else None


def size_of(op: Operation, type_: Attribute) -> int:
    """Bytes from the start of a buffer to the end of its last element, or of its last patch.

    Raises: PassFailedException, attached to the op, if shape, layout or element size is not static.
    """
    if not is_buffer_type(type_) or not type_.has_static_shape():
        refuse(op, f"expected an on-chip buffer of static size, got {type_}")
    strides, elements = type_.get_strides(), storage_elements(type_)
    if elements is None or any(step is None or step < 0 for step in strides or ()):
        refuse(op, f"expected an on-chip buffer with a static strided layout, got {type_}")
    if not isinstance(type_.element_type, ELEMENT):
        refuse(op, f"expected on-chip elements of a known size, got {type_.element_type}")
    return elements * element_bytes(type_)


def alignment_of(op: Operation, type_: Attribute) -> int:
    """The alignment in bytes of a buffer of a known size: a power of 2.

    It is at least the bytes of an element and the `alignment` of the allocation, if it has one.
    """
    assert is_buffer_type(type_)
    wanted = op.properties.get("alignment")
    least = wanted.value.data if isinstance(wanted, IntegerAttr) else 1
    alignment = 1
    while alignment < max(least, element_bytes(type_)):
        alignment *= 2
    return alignment


def pin_of(function: Operation, op: Operation, value: SSAValue) -> int | None:
    """The offset in bytes that a buffer already has, if any."""
    if isinstance(op, AllocOp | dram.AllocOp):
        return op.place
    if isinstance(value, BlockArgument):
        return SRAM_OFFSET.of(argument_attributes(value), op)
    return SRAM_OFFSET.get(op)


def name_of(function: Operation, value: SSAValue, aliases: Sequence[SSAValue]) -> str | None:
    """A readable name for a buffer.

    It is the name in the text; else, for an argument, the name of the port (`npu.name`), and for an
    allocation, the name of the value or layer that is written to it. None if there is none.
    """
    if value.name_hint is not None:
        return value.name_hint
    if isinstance(value, BlockArgument):
        return PORT.of(argument_attributes(value), function)
    for alias in aliases:
        for use in alias.uses:
            op = use.operation
            name = VALUE.get(op) or LAYER.get(op)
            if use.index == len(op.operands) - 1 and name is not None:
                return name
    return None
