"""How close the rings and the result of a region may lie to its dying input: numbers only, no IR.

    input   |0 1 2 3 4 5 6 7|          rows that are read for the last time one after the other
    ring    |0 1 2|                    filled row by row: row 0 when row 2 of the input is read
    result          |0 1 2 ...|        computed later still

Rows are put into a ring one behind the other until a reader needs one. So a ring may end where the
input begins to die, and so may the result. What is written with a row may meet what is read with
it, so a distance is never too small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from npu_dialect.row_times import late_rows
from npu_plans.rows.schedule import MapRead, RowLayer, Schedule

Readers: TypeAlias = Mapping[int, Sequence[tuple[int, MapRead]]]
"""For each map that layers read: the places of these layers, and how they read it."""


def readers_of(layers: Sequence[RowLayer]) -> Readers:
    """The readers of all maps that some layers read."""
    found: dict[int, list[tuple[int, MapRead]]] = {}
    for place, layer in enumerate(layers):
        for each in layer.reads:
            found.setdefault(each.map, []).append((place, each))
    return found


def packed_bytes(source_bytes: int, items: Sequence[tuple[int, int]]) -> int:
    """The fewest bytes of an input and of buffers that lie in front of it or over it.

    `items` are the size of each buffer, and how many bytes behind its start the input must start.
    """
    start = end = 0
    for size, least in sorted(items, key=lambda item: item[0] - item[1]):
        start, end = max(start, end + least), end + size
    return max(end, start + source_bytes)


def distance(
    layers: Sequence[RowLayer],
    all_readers: Readers,
    found: Schedule,
    place: int,
    source: int,
    row_bytes: int,
    *,
    dense: bool,
    top_rows: bool = False,
) -> int:
    """By how many bytes the input must start behind the start of a layer's map, or of its ring.

    It may be less than 0. `all_readers`: those of all layers (`readers_of`). `place` is that of the
    layer. `source` is the input, of whose rows each has `row_bytes`. `dense`: whether the rows of
    the map follow each other in memory; all may be written at once if not. `top_rows`: see
    `unmoved_rows`.
    """
    layer, together = layers[place], computed_with(layers, found, place)
    readers = all_readers[source]
    height = readers[0][1].read.height
    rows = found.rings.get(layer.map, layer.rows)
    own = [(layers[number], each) for number, each in all_readers.get(layer.map, ())]
    shift = rows - unmoved_rows(own, found, rows, top_rows=top_rows)
    late = late_top(layers, found) if top_rows and place == len(layers) - 1 else 0
    farthest = -height * row_bytes
    if rows > max(1, rows - shift):  # its start is filled with padding in the first step
        farthest = (shift if dense else rows) * layer.row_bytes
    for row in range(layer.rows):
        step = found.times[layer.map].step(max(row, late))
        needed = height
        for number, each in readers:
            reader = layers[number]
            done = step if number < place and reader.map not in together else step - 1
            next_row = max(0, found.times[reader.map].last(done) + 1)
            if next_row < reader.rows:
                needed = min(needed, max(0, each.read.first(next_row)))
        top = min(row + shift, rows - 1) + 1 if dense else rows
        farthest = max(farthest, top * layer.row_bytes - needed * row_bytes)
    return farthest


def unmoved_rows(
    readers: Sequence[tuple[RowLayer, MapRead]], found: Schedule, rows: int, *, top_rows: bool
) -> int:
    """How many rows are put into a ring until a reader of it needs one; all for the result.

    `top_rows`: rows of readers that need padding above the map are layers of their own. They find
    what they need wherever it is.
    """
    newest: list[int] = []
    for reader, each in readers:
        alone = each.read.top(reader.rows) if top_rows else 0
        if alone < reader.rows:
            newest.append(found.times[each.map].last(found.times[reader.map].step(alone)))
    unmoved = min((*newest, rows - 1)) + 1
    return unmoved if unmoved > 1 else 0


def late_top(layers: Sequence[RowLayer], found: Schedule) -> int:
    """How many rows at the top of the result wait for the one behind them; see `late_rows`."""
    last = layers[-1]
    if len(last.reads) != 1 or not found.rings.get(last.reads[0].map):
        return 0
    (source,), time = last.reads, found.times[last.map]
    ring = found.rings[source.map]
    return late_rows(source.read, found.times[source.map], time, ring, last.rows)


def computed_with(layers: Sequence[RowLayer], found: Schedule, place: int) -> Collection[int]:
    """The maps whose rows are computed where those of a layer are: it overwrites them."""
    together = {layers[place].map}
    for layer in reversed(layers[: place + 1]):
        if layer.map in together:
            together |= {each.map for each in layer.reads if found.rings.get(each.map) == 0}
    return together
