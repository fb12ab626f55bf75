"""Which rows of which maps the layers of a region in `npu.rows` compute and keep, and when.

A region is a directed graph of layers: a map may have several readers, and a layer may read several
maps of the region. Each layer says when it computes a row (`npu.row_time`, see `row_times.py`), and
how many rows of its OFM a ring keeps (`npu.ring`). A ring of 0 rows stands for a map whose only
reader overwrites it: the row is computed where that reader puts its own.

A ring starts with the rows of padding above its map, if a reader needs some. If the op has
`npu.top_rows`, it starts with the map's first row. Rows that need padding above are then layers of
their own, which pad by themselves. The region's result waits with such rows for the first other
one, if it can. So more of the input has died when it is written.

The op itself has the two attributes if the rows of its input arrive one at a time: row s in step
`s + delay`. A ring keeps those that readers still need. A ring of 0 rows stands for an input whose
only reader takes each row where it arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import RING, ROW_TIME, TOP_ROWS
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, Conv2dOp, MaxPool2dOp, PickOp, ResampleOp, ReshapeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_windows import row_axis, row_window
from npu_dialect.npu.structure import YieldOp, is_constant, is_within
from npu_dialect.row_times import RowRead, RowTime, late_rows, least_delay, period_of, ring_rows


def pad_value(layer: LayerOp) -> float:
    """The value of a padding row: it never wins a maximum, and adds nothing to a sum.

    A layer that picks elements says what stands where there is none.
    """
    if isinstance(layer, PickOp) and layer.fill is not None:
        return layer.fill.value.data
    if isinstance(layer, Conv2dOp) and layer.zero_points is not None:
        return float(int_values(layer.zero_points)[0])
    return -inf if isinstance(layer, MaxPool2dOp) else 0.0


def row_read(layer: LayerOp, value: SSAValue) -> RowRead | None:
    """How a layer reads the rows of a map; None if it cannot do so in a region."""
    if isinstance(layer, PickOp | ResampleOp | ReshapeOp):
        return None
    if isinstance(layer, ConcatOp):
        whole = layer.axis.value.data != row_axis(value) and layer.inputs.count(value) == 1
        constants = any(map(is_constant, layer.inputs))  # no rings have their rows
        return RowRead(shape_of(value)[row_axis(value)]) if whole and not constants else None
    window = row_window(layer, value, skips=True)
    if window is None:
        return None
    return RowRead(window.height, window.reach, window.stride, window.before)


def overwrites_row(layer: LayerOp, value: SSAValue) -> bool:
    """Whether a layer may compute each row of its OFM where that row of a map lies."""
    places = [layer.inputs[index] for index in layer.in_place_inputs()]
    if value not in places or value.type != layer.output.type:
        return False
    read = row_read(layer, value)
    return read is not None and read == RowRead(read.height)


def takes_row(read: RowRead, rows: int) -> bool:
    """Whether a layer of so many rows needs one row of a map for each, the one with its number."""
    return read == RowRead(read.height) and read.padding(rows) == (0, 0)


@dataclass(frozen=True)
class RegionMap:
    """The OFM of a layer in a region, or its input if its rows arrive one at a time.

    `time`: when its rows are computed. `computed`: how many rows are, those that a reader needs.
    `end`: how many rows are put into the ring, so that readers find their rows at the same place up
    to the last one. Those that are not computed are `pad`, as are the `above` rows that are in the
    ring at the start. `ring`: how many rows are kept; 0 if the map is overwritten, or if it is the
    result of the region. An input with a ring of 0 rows is read where it arrives. `unmoved`: how
    many rows are put behind each other into the ring until a reader reads it for the first time,
    and the rows in it begin to move. `late`: how many rows are computed in the step of the first
    one behind them.
    """

    time: RowTime
    computed: int
    end: int
    ring: int = 0
    above: int = 0
    pad: float = 0.0
    unmoved: int = 0
    late: int = 0

    @property
    def steps(self) -> tuple[int, int]:
        """The first and the last step in which a row is put into the ring."""
        return self.step(0), self.step(self.end - 1)

    def step(self, row: int) -> int:
        """The step in which a row is computed."""
        return self.time.step(max(row, self.late))

    def place_of_first(self, step: int) -> int:
        """The place of row 0 in the ring in a step, as long as it is in it."""
        return self.ring - max(self.time.last(step) + 1, self.unmoved)


def streams(rows: Operation, layer: LayerOp) -> dict[SSAValue, RowRead]:
    """The maps that a layer of a region reads row by row: inner ones and the region's input.

    Raises: VerifyException if it cannot read an inner map so, or if it reads none.
    """
    found: dict[SSAValue, RowRead] = {}
    for value in layer.inputs:
        inner = is_within(rows, value)
        if not inner and value is not rows.operands[0]:
            continue
        read = row_read(layer, value)
        if read is not None:
            found[value] = read
        elif inner:
            raise VerifyException(f"expected layers that can run row by row, got {layer.name}")
    if not found:
        raise VerifyException(f"expected a layer that reads the region's maps, got {layer.name}")
    return found


def region_maps(rows: Operation) -> Mapping[SSAValue, RegionMap]:
    """The OFMs of the layers of a region, in their order.

    In front of them is the region's input, if its rows arrive or are fetched one at a time.

    Raises: VerifyException for layers that cannot be in one, and for times and rings with which a
    layer does not find its rows.
    """
    *inner, last = rows.regions[0].block.ops
    assert isinstance(last, YieldOp)
    layers = [checked(op) for op in inner]
    reads = {layer: streams(rows, layer) for layer in layers}
    times = {layer.output: time_of(layer) for layer in layers}
    found: dict[SSAValue, RegionMap] = {}
    for layer in reversed(layers):
        map_, readers = layer.output, readers_of(layer.output, rows)
        if (map_ is last.value) == bool(readers):
            raise VerifyException(
                f"expected layers whose maps the region reads or yields, got {layer.name}"
            )
        if not readers:
            height = shape_of(map_)[row_axis(map_)]
            found[map_] = RegionMap(times[map_], height, height)
            continue
        by_row = {reader: reads[reader][map_] for reader in readers}
        found[map_] = ring_of(layer, map_, times, by_row, found)
    if TOP_ROWS.is_on(rows):
        found[last.value] = waiting(found[last.value], last.value, reads, found)
    if ROW_TIME.is_on(rows):
        (source,) = rows.operands
        times[source] = arrival(rows)
        by_row = {layer: reads[layer].get(source) for layer in layers if source in layer.inputs}
        known = {layer: read for layer, read in by_row.items() if read is not None}
        if not known or len(known) < len(by_row):
            raise VerifyException("expected layers that read the input row by row, as it arrives")
        found[source] = ring_of(rows, source, times, known, found)
    return dict(reversed(found.items()))


def waiting(
    result: RegionMap,
    map_: SSAValue,
    reads: Mapping[LayerOp, Mapping[SSAValue, RowRead]],
    found: Mapping[SSAValue, RegionMap],
) -> RegionMap:
    """The result of a region whose rows at the top wait, if its layer reads one ring only."""
    layer = map_.owner
    assert isinstance(layer, LayerOp)
    (value, read), *others = reads[layer].items()
    source = found.get(value)
    if others or source is None or not source.ring:
        return result
    late = late_rows(read, source.time, result.time, source.ring, result.computed)
    return replace(result, late=late)


def readers_of(map_: SSAValue, rows: Operation) -> list[LayerOp]:
    """The layers of a region that read a map, each once."""
    users = dict.fromkeys(use.operation for use in map_.uses)
    return [op for op in users if isinstance(op, LayerOp) and op.parent_op() is rows]


def arrival(rows: Operation) -> RowTime:
    """When the rows of a region's input arrive.

    Raises: VerifyException if not one arrives in each step, or if its type has no rows.
    """
    time, (source,) = time_of(rows), rows.operands
    if time.period != 1:
        raise VerifyException(f"expected npu.row_time of {rows.name} with period 1")
    if row_axis(source) < 0:
        raise VerifyException(f"expected an input with rows, got {source.type}")
    return time


def checked(op: Operation) -> LayerOp:
    """An op of a region. Raises: VerifyException if it is no layer on tensors with rows."""
    if not isinstance(op, LayerOp) or op.destination is not None:
        raise VerifyException(f"expected layers on tensors, got {op.name}")
    if row_axis(op.output) < 0:
        raise VerifyException(f"expected maps with rows, got one of {op.name}")
    return op


def time_of(layer: Operation) -> RowTime:
    """The time of a layer, or of the input of a region.

    Raises: VerifyException if it has none, or a period below 1.
    """
    numbers = ROW_TIME.get(layer)
    if numbers is None or len(numbers) != 2 or numbers[0] < 1:
        raise VerifyException(
            f"expected npu.row_time = array<i64: period, delay> on each layer of a region, "
            f"got none on {layer.name}"
            if numbers is None
            else f"expected npu.row_time of a period from 1 on and a delay, got {list(numbers)}"
        )
    return RowTime(*numbers)


def check_time(read: RowRead, source: RowTime, reader: RowTime, layer: LayerOp) -> None:
    """Check that a layer computes its rows after those that it needs.

    Raises: VerifyException if it does not.
    """
    period, delay = period_of(read, source), least_delay(read, source)
    if reader.period != period or reader.delay < delay:
        raise VerifyException(
            f"expected npu.row_time of {layer.name} with period {period} and a delay from {delay} "
            f"on, got [{reader.period}, {reader.delay}]"
        )


def ring_of(
    owner: Operation,
    map_: SSAValue,
    times: Mapping[SSAValue, RowTime],
    readers: Mapping[LayerOp, RowRead],
    found: Mapping[SSAValue, RegionMap],
) -> RegionMap:
    """The rows of a map that its readers need; `owner` has its `npu.ring`, `found` their OFMs.

    Raises: VerifyException if a reader comes too early, if two readers need rows of padding with
    other values, or if the ring has another size.
    """
    for reader, read in readers.items():
        check_time(read, times[map_], times[reader.output], reader)
    height = shape_of(map_)[row_axis(map_)]
    time, above, needed, end, ring = times[map_], 0, 0, 0, 1
    newest: list[int] = []
    pads: dict[float, str] = {}
    apart = any(TOP_ROWS.is_on(rows) for op in readers if (rows := op.parent_op()) is not None)
    for reader, read in readers.items():
        outputs = found[reader.output].computed
        top, bottom = read.padding(outputs)
        if top or bottom:
            pads[pad_value(reader)] = reader.name
        above = max(above, 0 if apart else top)
        needed = max(needed, read.end(outputs - 1))
        reader_time = times[reader.output]
        # The ring moves until the last row of the reader, though there may be no new rows by then.
        end = max(end, time.last(reader_time.step(outputs - 1)) + 1)
        ring = max(ring, ring_rows(read, time, reader_time))
        alone = read.top(outputs) if apart else 0
        if alone < outputs:
            newest.append(time.last(reader_time.step(alone)))
    if len(pads) > 1:
        raise VerifyException(
            f"expected readers with the same value of padding, got {' and '.join(pads.values())}"
        )
    pad = next(iter(pads), 0.0)
    first = next(iter(readers))
    if len(readers) == 1 and ring == 1 and RING.get(owner) == 0 and times[first.output] == time:
        if isinstance(owner, LayerOp):
            ring = 1 - (overwritten(first) == [map_] and overwrites_row(first, map_))
        else:
            ring = 1 - takes_row(readers[first], found[first.output].computed)
    check_ring(owner, ring, list(readers))
    computed, unmoved = min(max(needed, 1), height), min((*newest, ring - 1)) + 1
    unmoved = unmoved if unmoved > 1 else 0
    return RegionMap(time, computed, max(end, 1), ring, above, pad, unmoved)


def overwritten(layer: LayerOp) -> list[SSAValue]:
    """The maps that a layer is said to overwrite; it has one row for them."""
    owners = {each: each.owner for each in layer.inputs}
    return [map_ for map_, op in owners.items() if isinstance(op, LayerOp) and RING.get(op) == 0]


def overwrites_input(rows: Operation) -> bool:
    """Whether the last layer of a region may put each row of its OFM where it reads the input.

    It is so if no layer needs that row later, and if the layer overwrites no other map.
    """
    source = rows.operands[0]
    layers = [op for op in rows.regions[0].block.ops if isinstance(op, LayerOp)]
    last = layers[-1]
    if ROW_TIME.is_on(rows) or overwritten(last) or not overwrites_row(last, source):
        return False
    maps = region_maps(rows)
    result = maps[last.output]
    for layer in readers_of(source, rows):
        read, found = streams(rows, layer)[source], maps[layer.output]
        for row in range(result.computed):
            behind = found.time.last(result.step(row)) + 1
            if behind < found.computed and read.first(max(behind, 0)) <= row:
                return False
    return True


def check_ring(layer: Operation, ring: int, readers: Sequence[LayerOp]) -> None:
    """Check `npu.ring` of a layer, or of the input of a region.

    Raises: VerifyException if it is another number than its readers need.
    """
    given = RING.get(layer)
    if given != ring:
        names = ", ".join(dict.fromkeys(reader.name for reader in readers))
        raise VerifyException(
            f"expected npu.ring = {ring} on {layer.name}, the rows that {names} "
            f"need{'s' if len(readers) == 1 else ''} at once, got {given}"
        )
