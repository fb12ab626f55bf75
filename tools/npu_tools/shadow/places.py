"""Accesses of a vector to bytes at places, which it loads from a table of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from npu_dialect import mve
from npu_dialect.mve.types import lanes_of

PlacesOp: TypeAlias = mve.GatherOp | mve.GatherBytesOp | mve.ScatterOp | mve.ScatterBytesOp
"""The ops that load or store bytes at places."""


def used_lanes(op: PlacesOp) -> Sequence[int]:
    """The lanes whose bytes are loaded or stored."""
    all_ = range(lanes_of(op.places.type))
    if isinstance(op, mve.GatherBytesOp | mve.ScatterBytesOp):
        return all_
    return [lane for lane in all_ if op.mask >> lane & 1]


def table_of(op: PlacesOp) -> mve.LoadOp | None:
    """The load of the places from neighbouring elements; None if they come from elsewhere."""
    load = op.places.owner
    if isinstance(load, mve.LoadOp) and load.first is None and load.step == 1:
        return load
    return None
