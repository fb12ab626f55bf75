"""The places of an access of a vector, from the constant table of which they are loaded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import i8
from xdsl.ir import OpResult, SSAValue

from npu_dialect import mve
from npu_passes.analysis.affine_index import constant_of
from npu_passes.lowering.kernels.constants import numbers_of
from npu_passes.support.loop_builder import memref_type
from npu_tools.shadow.faults import NotFollowed, place_of


def places_of(op: mve.GatherOp | mve.GatherBytesOp | mve.ScatterOp) -> Iterator[int]:
    """The distances from the index of an access to its bytes.

    Raises: NotFollowed if they are not all loaded of a constant global.
    """
    table = places_in(op.places)
    if table is None:
        raise NotFollowed(f"expected places of a constant table in {place_of(op)}")
    mask = op.mask if isinstance(op, mve.EightPlacesOp) else (1 << len(table)) - 1
    yield from (place for lane, place in enumerate(table) if mask >> lane & 1)


def places_in(vector: SSAValue) -> list[int] | None:
    """The numbers without signs of a vector that is loaded from the start of a constant global."""
    load = vector.owner
    if not isinstance(load, mve.LoadOp) or load.first is not None or constant_of(load.index) != 0:
        return None
    table = load.memref.op if isinstance(load.memref, OpResult) else None
    numbers = numbers_of(table) if isinstance(table, memref.GetGlobalOp) else None
    if numbers is None:
        return None
    kind = np.uint8 if memref_type(load.memref).element_type == i8 else np.uint16
    return numbers.astype(kind).tolist()
