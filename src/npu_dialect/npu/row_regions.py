"""Which rows of which maps the layers of a region in `npu.rows` compute and keep, and when.

A region is a directed graph of layers: a map may have several readers, and a layer may read several
maps of the region. Each layer says when it computes a row (`npu.row_time`, see `row_times.py`), and
how many rows of its OFM a ring keeps (`npu.ring`). A ring of 0 rows stands for a map whose only
reader overwrites it: the row is computed where that reader puts its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import RING, ROW_TIME
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp, Conv2dOp, MaxPool2dOp, PickOp, ResampleOp, ReshapeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_windows import row_axis, row_window
from npu_dialect.npu.structure import YieldOp, is_within
from npu_dialect.row_times import RowRead, RowTime, least_delay, period_of, ring_rows


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
        return RowRead(shape_of(value)[row_axis(value)]) if whole else None
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


@dataclass(frozen=True)
class RegionMap:
    """The OFM of a layer in a region.

    `time`: when its rows are computed. `computed`: how many rows are, those that a reader needs.
    `end`: how many rows are put into the ring, so that readers find their rows at the same place up
    to the last one. Those that are not computed are `pad`, as are the `above` rows that are in the
    ring at the start. `ring`: how many rows are kept; 0 if the map is overwritten, or if it is the
    result of the region.
    """

    time: RowTime
    computed: int
    end: int
    ring: int = 0
    above: int = 0
    pad: float = 0.0

    @property
    def steps(self) -> tuple[int, int]:
        """The first and the last step in which a row is put into the ring."""
        return self.time.step(0), self.time.step(self.end - 1)


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

    The region's input comes first if its rows are fetched, so that it has a ring too.

    Raises: VerifyException for layers that cannot be in one, and for times and rings with which a
    layer does not find its rows.
    """
    *inner, last = rows.regions[0].block.ops
    assert isinstance(last, YieldOp)
    layers = [checked(rows, op) for op in inner]
    reads = {layer: streams(rows, layer) for layer in layers}
    times = {layer.output: time_of(layer) for layer in layers}
    source = rows.operands[0]
    if ROW_TIME.get(rows) is not None:
        times[source] = time_of(rows)
    found: dict[SSAValue, RegionMap] = {}
    for layer in reversed(layers):
        map_, readers = layer.output, readers_of(layer.output, rows)
        if (map_ is last.value) == bool(readers):
            raise VerifyException(
                f"expected layers whose maps the region reads or yields, got {layer.name}"
            )
        height = shape_of(map_)[row_axis(map_)]
        if not readers:
            found[map_] = RegionMap(times[map_], height, height)
            continue
        found[map_] = ring_of(map_, times, {r: (reads[r][map_], found) for r in readers})
        check_ring(layer, found[map_].ring, readers)
    if source in times:
        readers = readers_of(source, rows)
        found[source] = ring_of(source, times, {r: (reads[r][source], found) for r in readers})
        check_ring(rows, found[source].ring, readers)
    return dict(reversed(found.items()))


def readers_of(map_: SSAValue, rows: Operation) -> list[LayerOp]:
    """The layers of a region that read a map, each once."""
    users = dict.fromkeys(use.operation for use in map_.uses)
    return [op for op in users if isinstance(op, LayerOp) and op.parent_op() is rows]


def checked(rows: Operation, op: object) -> LayerOp:
    """An op of a region, which must be a layer on tensors that reads no map before its op."""
    if not isinstance(op, LayerOp) or op.destination is not None:
        raise VerifyException(f"expected layers on tensors, got {getattr(op, 'name', op)}")
    if row_axis(op.output) < 0:
        raise VerifyException(f"expected maps with rows, got one of {op.name}")
    return op


def time_of(layer: Operation) -> RowTime:
    """The time of a layer, or of a region's input.

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
    map_: SSAValue,
    times: Mapping[SSAValue, RowTime],
    readers: Mapping[LayerOp, tuple[RowRead, Mapping[SSAValue, RegionMap]]],
) -> RegionMap:
    """The rows that its readers need of an inner map, or of the region's input.

    Raises: VerifyException if a reader comes too early, or if two readers need rows of padding with
    other values.
    """
    height = shape_of(map_)[row_axis(map_)]
    for layer, (read, _) in readers.items():
        check_time(read, times[map_], times[layer.output], layer)
    time, above, needed, end, ring = times[map_], 0, 0, 0, 1
    pads: dict[float, str] = {}
    for layer, (read, found) in readers.items():
        outputs = found[layer.output].computed
        top, bottom = read.padding(outputs)
        if top or bottom:
            pads[pad_value(layer)] = layer.name
        above, needed = max(above, top), max(needed, read.end(outputs - 1))
        reader_time = times[layer.output]
        # The ring moves until the last row of the reader, though there may be no new rows by then.
        end = max(end, time.last(reader_time.step(outputs - 1)) + 1)
        ring = max(ring, ring_rows(read, time, reader_time))
    if len(pads) > 1:
        raise VerifyException(
            f"expected readers with the same value of padding, got {' and '.join(pads.values())}"
        )
    pad = next(iter(pads), 0.0)
    first = next(iter(readers))
    if len(readers) == 1 and ring == 1 and map_ in overwritten(first):
        alone = overwritten(first) == [map_]
        if alone and overwrites_row(first, map_) and times[first.output] == time:
            ring = 0
    return RegionMap(time, min(max(needed, 1), height), max(end, 1), ring, above, pad)


def overwritten(layer: LayerOp) -> list[SSAValue]:
    """The maps that a layer is said to overwrite; it has one row for them."""
    rows = layer.parent_op()
    owners = {each: each.owner for each in layer.inputs}
    if rows is not None and ROW_TIME.get(rows) is not None and rows.operands[0] in owners:
        owners[rows.operands[0]] = rows
    return [map_ for map_, op in owners.items() if isinstance(op, Operation) and RING.get(op) == 0]


def overwrites_input(rows: Operation) -> bool:
    """Whether the last layer of a region may put each row of its OFM where it reads the input.

    It is so if no layer needs that row later, and if the layer overwrites no other map.
    """
    source = rows.operands[0]
    layers = [op for op in rows.regions[0].block.ops if isinstance(op, LayerOp)]
    last = layers[-1]
    if ROW_TIME.get(rows) is not None or overwritten(last) or not overwrites_row(last, source):
        return False
    maps = region_maps(rows)
    result = maps[last.output]
    for layer in readers_of(source, rows):
        read, found = streams(rows, layer)[source], maps[layer.output]
        for row in range(result.computed):
            behind = found.time.last(result.time.step(row)) + 1
            if behind < found.computed and read.first(max(behind, 0)) <= row:
                return False
    return True


def check_ring(layer: Operation, ring: int, readers: list[LayerOp]) -> None:
    """Check `npu.ring` of a layer.

    Raises: VerifyException if it is another number than its readers need.
    """
    given = RING.get(layer)
    if given != ring:
        names = ", ".join(dict.fromkeys(reader.name for reader in readers))
        raise VerifyException(
            f"expected npu.ring = {ring} on {layer.name}, the rows that {names} "
            f"need{'s' if len(readers) == 1 else ''} at once, got {given}"
        )
