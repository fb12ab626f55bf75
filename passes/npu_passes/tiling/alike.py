"""Layers that are alike: what the search for tiles finds for one of them holds for all.

A network repeats its layers. `shape_of_layer` is all that decides the tiles of a layer besides the
machine, the options and the free bytes: its kind, its windows, the types of its operands, which of
them are one value, parameters or off the chip. Names, places in the function, and numbers such as
scales do not decide anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xdsl.ir import Operation, SSAValue

from npu_dialect.computing import computation_of, parameters_of
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.epilogue import EpilogueOp
from npu_passes.support.channel_scales import has_channel_scales

NUMBERS = frozenset({"epilogue", "function", "scales", "table", "zero_point", "zero_points"})
"""Properties of numbers. Of an epilogue, the pool and whether it requantises count, and of all of
them, whether each channel has a number of its own."""

T = TypeVar("T")


def shape_of_layer(op: Operation, off_chip: AbstractSet[SSAValue]) -> Hashable:
    """What two ops share if they have the same tiles, given which operands lie off chip."""
    parameters = parameters_of(op)
    places = {value: place for place, value in reversed(list(enumerate(op.operands)))}
    operands = [
        (value.type, places[value], value in parameters, value in off_chip) for value in op.operands
    ]
    properties = [item for item in op.properties.items() if item[0] not in NUMBERS]
    numbers: tuple[object, ...] = ()
    if isinstance(op, LayerOp):
        numbers = (has_channel_scales(op),)
    elif (computation := computation_of(op)) is not None:
        numbers = (computation.domain, computation.accumulates)
    if isinstance(op, EpilogueOp):
        numbers = (*numbers, op.requantize is None, op.pool)
    return type(op), tuple(operands), frozenset(properties), numbers


@dataclass(frozen=True)
class Remembered(Generic[T]):
    """What was found for layers of each shape, in one run of a pass."""

    _found: dict[Hashable, T] = field(default_factory=dict[Hashable, T])

    def of(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` returns, which is called once for equal keys. Raises what it raises."""
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]
