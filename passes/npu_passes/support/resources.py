"""Constants whose numbers stand at the end of the text, or were left out.

    %w = arith.constant dense_resource<fc_weight> : tensor<10x84xf32>
    {-# dialect_resources: { builtin: { fc_weight: "0x04000000..." } } #-}

torch-mlir prints weights like this. `resolve` makes them constants like all others. A constant
without numbers, such as `dense_resource<__elided__>`, stays, or gets ones in their place.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    ModuleOp,
    RankedStructure,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npu_passes.support.refuse import refuse

ALIGNMENT = 4
"""Bytes before the numbers of a resource, which hold its alignment."""


def resolve(module: ModuleOp, context: Context, *, ones: bool = False) -> int:
    """Replace `dense_resource` by the numbers of the text; returns how many have none.

    With `ones`, these get ones as their numbers.

    Raises: Refusal for a resource whose size is not that of its type.
    """
    missing = 0
    for op in module.walk():
        for table in (op.properties, op.attributes):
            for name, attribute in list(table.items()):
                if not isinstance(attribute, DenseResourceAttr):
                    continue
                blob = numbers_of(attribute, context)
                missing += blob is None
                element = elements_of(attribute)
                if element is None or (blob is None and not ones):
                    continue
                size = prod(attribute.type.get_shape()) * element.size
                data = filled(element, size) if blob is None else blob
                if len(data) != size:
                    refuse(op, f"expected {size} bytes as numbers of {name}, got {len(data)}")
                assert isa(attribute.type, RankedStructure[AnyFloat | IntegerType])
                table[name] = DenseIntOrFPElementsAttr(attribute.type, BytesAttr(data))
    return missing


def elements_of(attribute: DenseResourceAttr) -> AnyFloat | IntegerType | None:
    """The element type of a constant; None if it has none of a known size."""
    type_: Attribute = attribute.type
    if not isa(type_, RankedStructure[AnyFloat | IntegerType]):
        return None
    found = type_.get_element_type()
    return found if isa(found, AnyFloat | IntegerType) else None


def numbers_of(attribute: DenseResourceAttr, context: Context) -> bytes | None:
    """The numbers of a resource; None if the text has none, or no bytes in hexadecimal digits."""
    found = table_of(context)
    text = None if found is None else found.lookup(attribute.resource_handle.data)
    if not text:
        return None
    try:
        return bytes.fromhex(text.strip('"').removeprefix("0x"))[ALIGNMENT:]
    except ValueError:
        return None


def table_of(context: Context) -> OpAsmDialectInterface | None:
    """The table of the resources of a text; None if no text has been parsed."""
    builtin = context.get_optional_dialect("builtin")
    if builtin is None or not builtin.has_interface(OpAsmDialectInterface):
        return None
    return builtin.get_interface(OpAsmDialectInterface)


def forget(context: Context) -> None:
    """Forget the resources of texts before.

    xDSL keeps those of all texts of a process in one table. It renames what is there already, and
    loses the numbers on the way.
    """
    if (found := table_of(context)) is not None:
        vars(found)["_blob_storage"].clear()


def filled(element: AnyFloat | IntegerType, size: int) -> bytes:
    """Ones of an element type."""
    names: dict[Attribute, str] = {f32: "<f4", f64: "<f8"}
    kind = names.get(element)
    if kind is None:
        kind = f"<i{element.size}" if element.size in (1, 2, 4, 8) else "u1"
    item = np.ones(1, kind)
    return item.tobytes() * (size // item.itemsize)
