"""The places of an access of a vector, from the constant table of which they are loaded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i8
from xdsl.ir import OpResult, SSAValue
from xdsl.traits import SymbolTable

from npu_dialect import mve
from npu_dialect.npu.maps import is_buffer_type
from npu_tools.shadow.faults import NotFollowed, place_of


def places_of(op: mve.GatherOp | mve.GatherBytesOp | mve.ScatterOp) -> Iterator[int]:
    """The distances from the index of an access to its bytes.

    Raises: NotFollowed if they are not all loaded of a constant global.
    """
    table = numbers_of(op.places)
    if table is None:
        raise NotFollowed(f"expected places of a constant table in {place_of(op)}")
    mask = op.mask if isinstance(op, mve.EightPlacesOp) else (1 << len(table)) - 1
    yield from (place for lane, place in enumerate(table) if mask >> lane & 1)


def numbers_of(places: SSAValue) -> list[int] | None:
    """The numbers without signs of a vector that is loaded from the start of a constant global."""
    load = places.op if isinstance(places, OpResult) else None
    if not isinstance(load, mve.LoadOp) or load.first is not None:
        return None
    table = load.memref.op if isinstance(load.memref, OpResult) else None
    if not isinstance(table, memref.GetGlobalOp) or not is_buffer_type(table.memref.type):
        return None
    found = SymbolTable.lookup_symbol(table, table.name_)
    if not isinstance(found, memref.GlobalOp) or found.constant is None:
        return None
    values = found.initial_value
    if not isinstance(values, DenseIntOrFPElementsAttr):
        return None
    kind = np.uint8 if table.memref.type.element_type == i8 else np.uint16
    return np.frombuffer(values.data.data, kind).tolist()
