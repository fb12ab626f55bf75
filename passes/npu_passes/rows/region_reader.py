"""Reads a function of layers as the data from which `npu_plans/rows/regions.py` chooses regions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_dialect.arguments import argument_attributes, is_streamed
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, ViewOp
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type, shape_of
from npu_dialect.npu.row_regions import overwrites_row, pad_value, row_read, takes_row
from npu_dialect.npu.row_windows import reads_row, row_axis
from npu_dialect.npu.structure import is_constant
from npu_passes.modules.layer_reader import LayerProgram
from npu_passes.rows.chain_sizes import apart, discard, lies_by_rows, partial_bytes
from npu_plans.modules.footprints import Storage
from npu_plans.rows.growing import FunctionRows, RowStep
from npu_plans.rows.schedule import MapRead, RowLayer
from npu_plans.time.rates import Rates, UnknownRate

ELEMENT = 8
"""About how many instructions an element of an OFM costs beside its multiply-accumulates."""
FLOAT = 2.3
"""About how many instructions a multiply-accumulate of floats costs; one of bytes costs 1.

A Cortex-M4 takes 2.2 to 2.8.
"""


ALL_BYTES = 1 << 50
"""More bytes than any network moves."""


@dataclass
class RegionReader:
    """Reads the steps of a function.

    `storage`: how the machine keeps parameters on chip, if they lie off chip. `numbers` are those
    of the maps. `layers` are the ops of each step but for views; none if the step cannot be in a
    region.
    """

    program: LayerProgram
    storage: Storage | None = None
    sram: int | None = None
    rates: Rates | None = None
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    layers: list[Sequence[LayerOp]] = field(default_factory=list[Sequence[LayerOp]])

    def function(self, *, overlays: bool) -> FunctionRows:
        """The function; `overlays`: whether later passes put outputs over inputs."""
        steps = [self.step(unit) for unit in self.program.units]
        graph = self.program.graph
        sizes = tuple(0 if home in self.away else size for home, size in enumerate(graph.sizes))
        places = {op: number for number, unit in enumerate(self.program.units) for op in unit}
        found = list(self.numbers)
        return FunctionRows(
            replace(graph, sizes=sizes),
            steps,
            {self.numbers[value]: users_of(value, places, len(steps)) for value in found},
            {self.numbers[value]: self.home(value) for value in found},
            frozenset(self.numbers[value] for value in found if self.is_dense(value)),
            frozenset(self.numbers[value] for value in found if self.has_dense_ring(value)),
            sum(work_of(op) for op in places if isinstance(op, LayerOp)),
            overlays,
            next((self.arriving(value) for value in found if arrives(value)), None),
            {self.numbers[value]: self.arriving(value) for value in found if self.fetches(value)},
            {self.numbers[value]: kind for value in found if (kind := self.join_kind(value))},
            away={
                self.numbers[value]: graph.sizes[self.home(value)]
                for value in found
                if self.home(value) in self.away
            },
        )

    @cached_property
    def away(self) -> frozenset[int]:
        """The buffers of maps that are larger than the memory on chip, so that they lie off it."""
        graph = self.program.graph
        if self.storage is None or self.sram is None:
            return frozenset()
        return frozenset(
            home for home, size in enumerate(graph.sizes) if graph.single[home] and size > self.sram
        )

    def arriving(self, value: SSAValue) -> RowLayer:
        """The rows of an input that arrive one at a time, as a layer that reads nothing."""
        rows = shape_of(value)[row_axis(value)]
        return RowLayer(self.number(value), rows, bytes_of(map_type(value)) // max(1, rows), ())

    def fetches(self, value: SSAValue) -> bool:
        """Whether a map lies off chip, so that its rows are fetched: an input of the function."""
        given = self.storage is not None and isinstance(value, BlockArgument)
        return (given or self.home(value) in self.away) and row_axis(value) >= 0

    def join_kind(self, value: SSAValue) -> Hashable:
        """What two maps must have in common to be parts of one concatenation; None if it has none.

        Maps are only joined where they can leave the chip.
        """
        type_ = map_type(value)
        shape, inner = type_.get_shape(), isinstance(value.owner, Operation)
        if self.storage is None or len(shape) != 4 or shape[0] != 1 or not inner:
            return None
        if self.home(value) in self.away:
            return None
        return (*shape[2:], type_.get_element_type())

    def number(self, value: SSAValue) -> int:
        """The number of a map."""
        return self.numbers.setdefault(value, len(self.numbers))

    def home(self, value: SSAValue) -> int:
        """The buffer of a map; -1 if it is a part of a layer, or of a unit, and has none."""
        while value not in self.program.homes and isinstance(value.owner, ViewOp):
            value = value.owner.input
        return self.program.homes.get(value, -1)

    def is_dense(self, value: SSAValue) -> bool:
        """Whether the rows of a map follow each other in memory, each a run of bytes.

        So do those of an input that `npu-reorder-inputs` can reorder, and those of a float map that
        `npu-choose-layouts` can store row by row.
        """
        layout = self.program.layouts.get(value)
        return layout is not None and (has_dense_rows(layout) or lies_by_rows(value))

    def has_dense_ring(self, value: SSAValue) -> bool:
        """Whether the rows of a map follow each other in a ring, too."""
        layout = self.program.layouts.get(value)
        floats = isinstance(value.owner, Operation) and lies_by_rows(value)
        return layout is not None and (has_dense_rows(layout) or floats)

    def step(self, unit: Sequence[Operation]) -> RowStep:
        """A step as layers that run row by row."""
        layers = [op for op in unit if isinstance(op, LayerOp) and not isinstance(op, ViewOp)]
        found: list[RowLayer] = []
        pads: dict[int, float] = {}
        for op in layers:
            parts = apart(op)
            results = [*(part.results[0] for part in parts[:-1]), op.results[0]]
            for part, result in zip(parts, results, strict=True):
                found.extend(self.row_layer(part, result, pads))
            discard(op, parts)
        whole = all(self.number(op.results[0]) in {each.map for each in found} for op in layers)
        self.layers.append(layers if whole else ())
        partial = sum(self.partial(op) for op in layers)
        hides = sum(map(self.hides, layers))
        if not whole:
            return RowStep(partial=partial, hides=hides)
        return RowStep(tuple(found), pads, partial, hides, sum(map(self.jumps, layers)))

    def jumps(self, op: LayerOp) -> int:
        """The bytes that can cross the border while a layer by itself picks elements of rows.

        A window that is narrower than its stride leaves elements out. Each that is used is a run of
        its own, or the gaps between them cross the border, too: what takes less time.
        """
        if self.rates is None or not isinstance(op, Conv2dOp):
            return 0
        (*_, height, width), (*_, stride) = shape_of(op.weight), int_values(op.strides)
        if width >= stride:
            return 0
        *_, rows, columns = shape_of(op.output)
        lines = shape_of(op.input)[1] * rows * height
        jump = self.rates.jump * self.rates.dma_bytes_per_cycle / max(1, self.rates.channels)
        gap = (stride - width) * element_bytes(map_type(op.input))
        return int(lines * min(columns * jump, jump + (columns - 1) * gap))

    def hides(self, op: LayerOp) -> int:
        """The bytes that can cross the border while a layer computes; all if nobody knows."""
        if self.rates is None:
            return ALL_BYTES
        moved = sum(bytes_of(map_type(value)) for value in (*op.inputs, *op.results))
        element = "f32" if map_type(op.results[0]).get_element_type() == f32 else "i8"
        try:
            cycles = self.rates.work(op.macs(), element, moved)
        except UnknownRate:
            return ALL_BYTES
        return int(cycles * self.rates.dma_bytes_per_cycle)

    def parameters(self, op: LayerOp) -> list[SSAValue]:
        """What lies in memory for parameters: these, and constant maps."""
        return [value for value in dict.fromkeys(op.inputs) if is_parameter(op, value)]

    def partial(self, op: LayerOp) -> int:
        """Bytes of the parameters of a layer that are on chip at a time if it runs by itself."""
        if self.storage is None:
            return 0
        return sum(partial_bytes(op, value, self.storage) for value in self.parameters(op))

    def row_layer(
        self, op: LayerOp, result: SSAValue, pads: dict[int, float]
    ) -> Iterator[RowLayer]:
        """A layer that computes a map row by row; nothing if it cannot.

        The values with which it pads maps are put into `pads`.
        """
        maps = [value for value in dict.fromkeys(op.inputs) if not is_parameter(op, value)]
        reads = [row_read(op, value) for value in maps]
        if not maps or None in reads or row_axis(result) < 0:
            return
        rows = shape_of(result)[row_axis(result)]
        if not rows:
            return
        found: list[MapRead] = []
        for value, read in zip(maps, reads, strict=True):
            assert read is not None
            if any(read.padding(rows)):
                pads[self.number(value)] = pad_value(op)
            aside = any(reads_row(op, each, value) for each in maps if each is not value)
            over = overwrites_row(op, value) and not self.fetches(value)
            if arrives(value):
                over = takes_row(read, rows)
            found.append(MapRead(self.number(value), read, over, aside))
        size = bytes_of(map_type(result)) // rows
        weights = 0
        if self.storage is not None:
            weights = sum(bytes_of(map_type(value)) for value in self.parameters(op))
        yield RowLayer(self.number(result), rows, size, tuple(found), weights)


def arrives(value: SSAValue) -> bool:
    """Whether a map is an input whose rows arrive one at a time."""
    return is_streamed(argument_attributes(value))


def is_parameter(op: LayerOp, value: SSAValue) -> bool:
    """Whether an input of a layer is a constant, or a parameter that the caller gives."""
    return is_constant(value) or (value in op.parameter_inputs and isinstance(value, BlockArgument))


def users_of(value: SSAValue, places: Mapping[Operation, int], end: int) -> list[int]:
    """The steps that read a map; `end` for the end of the function, or if a view of it is read."""
    users = [use.operation for use in value.uses]
    return [end if isinstance(op, ViewOp) else places.get(op, end) for op in users]


def has_dense_rows(type_: MemRefType[Attribute]) -> bool:
    """Whether each row of a map is a run of bytes, and the rows follow each other."""
    shape, strides = type_.get_shape(), type_.get_strides()
    axis = len(shape) - 2
    if strides is None or axis < 0:
        return False
    row = prod(extent for place, extent in enumerate(shape) if place != axis)
    return strides[axis] == row and all(
        stride is not None and stride < row
        for place, (extent, stride) in enumerate(zip(shape, strides, strict=True))
        if place != axis and extent > 1
    )


def work_of(op: LayerOp) -> int:
    """About how many instructions a layer takes."""
    floats = map_type(op.results[0]).get_element_type() == f32
    return round(op.macs() * (FLOAT if floats else 1)) + ELEMENT * prod(shape_of(op.results[0]))
