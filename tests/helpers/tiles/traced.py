"""Runs the loop nest of a tiled layer step by step, and counts every address that it moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

from npu_plans.tiles.cost_model import LOOPS, Conventions, OperandTraffic, Tile, TileTraffic
from npu_plans.tiles.layer_shape import ConvShape

Index = tuple[int, ...]
OPERANDS = {"inputs": "stk", "weights": "kz", "outputs": "stz"}


@dataclass
class Counter:
    """The sums over all transfers of an operand."""

    transfers: int = 0
    jumps: int = 0
    elements: int = 0
    bytes: int = 0

    def add(self, jumps: int, *moved: tuple[int, int]) -> None:
        """Add one transfer; `moved` are pairs of a number of elements and their width in bytes."""
        self.transfers += 1
        self.jumps += jumps
        self.elements += sum(count for count, _ in moved)
        self.bytes += sum(count * width for count, width in moved)

    def sum(self) -> OperandTraffic:
        return OperandTraffic(self.transfers, self.jumps, self.elements, self.bytes)


def runs(addresses: list[int]) -> int:
    """The number of maximal runs of consecutive addresses."""
    return sum(a + 1 != b for a, b in pairwise(addresses)) + 1


def cut(extent: int, size: int, index: int) -> range:
    return range(index * size, min(extent, (index + 1) * size))


def block(
    channels: range, rows: range, columns: range, height: int, width: int, merge: bool
) -> tuple[int, int]:
    """The number of runs and of elements of a part of a [C, H, W] map."""
    addresses = [(c * height + y) * width + x for c, y, x in product(channels, rows, columns)]
    return (runs(addresses) if merge else len(channels) * len(rows)), len(addresses)


@dataclass
class Trace:
    """One tiled layer; `run` fills the counters."""

    layer: ConvShape
    tile: Tile
    order: str
    conventions: Conventions
    counters: dict[str, Counter] = field(default_factory=dict[str, Counter])
    seen: set[Index] = field(default_factory=set[Index])
    most: dict[str, int] = field(default_factory=dict[str, int])

    def steps(self) -> Iterator[dict[str, int]]:
        layer, tile = self.layer, self.tile
        extents = (layer.rows.outputs, layer.columns.outputs, layer.channels_in, layer.channels_out)
        sizes = (tile.rows, tile.columns, tile.channels_in, tile.channels_out)
        trips = {
            loop: range(-(-extent // size))
            for loop, extent, size in zip(LOOPS, extents, sizes, strict=True)
        }
        for index in product(*(trips[loop] for loop in self.order)):
            yield dict(zip(self.order, index, strict=True))

    def input_tile(self, at: dict[str, int]) -> tuple[int, int]:
        rows, columns, tile = self.layer.rows, self.layer.columns, self.tile
        y, x = cut(rows.outputs, tile.rows, at["s"]), cut(columns.outputs, tile.columns, at["t"])
        channels = cut(self.layer.channels_in, tile.channels_in, at["k"])
        read_y, read_x = rows.reads(y.start, y.stop), columns.reads(x.start, x.stop)
        merge = self.conventions.merge_runs
        return block(channels, read_y, read_x, rows.extent, columns.extent, merge)

    def output_tile(self, at: dict[str, int]) -> tuple[int, int]:
        rows, columns = self.layer.rows.outputs, self.layer.columns.outputs
        y, x = cut(rows, self.tile.rows, at["s"]), cut(columns, self.tile.columns, at["t"])
        channels = cut(self.layer.channels_out, self.tile.channels_out, at["z"])
        return block(channels, y, x, rows, columns, self.conventions.merge_runs)

    def weight_tile(self, at: dict[str, int]) -> tuple[int, int, int]:
        layer = self.layer
        ins = cut(layer.channels_in, self.tile.channels_in, at["k"])
        outs = cut(layer.channels_out, self.tile.channels_out, at["z"])
        kernel = layer.kernel_elements
        addresses = [
            (o * layer.channels_in + i) * kernel + tap
            for o, i, tap in product(outs, ins, range(kernel))
        ]
        jumps = runs(addresses) if self.conventions.merge_runs else len(outs)
        return jumps + 1, len(addresses), len(outs)

    def move(self, what: str, at: dict[str, int]) -> None:
        widths = self.layer.element_bytes
        if what == "inputs":
            jumps, count = self.input_tile(at)
            moved = [(count, widths.input)]
        elif what == "weights":
            jumps, count, biases = self.weight_tile(at)
            moved = [(count, widths.weight), (biases, widths.bias)]
        else:
            jumps, count = self.output_tile(at)
            moved = [(count, widths.output)]
        self.counters.setdefault(what, Counter()).add(jumps, *moved)
        size = sum(count * width for count, width in moved)
        name = what.split("_")[0]
        self.most[name] = max(self.most.get(name, 0), size)

    def shown(self, at: dict[str, int], operand: str) -> Index:
        """A key that changes whenever the operand is moved again, by tile or by listing 1.1."""
        relevant = OPERANDS[operand]
        if self.conventions.reload_changed_only:
            return tuple(at[loop] for loop in relevant)
        innermost = max(self.order.index(loop) for loop in relevant)
        return tuple(at[loop] for loop in self.order[: innermost + 1])

    def run(self) -> TileTraffic:
        last: dict[str, int] | None = None
        for at in self.steps():
            for operand in OPERANDS:
                if last is not None and self.shown(at, operand) == self.shown(last, operand):
                    continue
                if operand != "outputs":
                    self.move(operand, at)
                    continue
                if last is not None:
                    self.move("outputs_written", last)
                tile = tuple(at[loop] for loop in OPERANDS[operand])
                if tile in self.seen or not self.conventions.skip_first_read:
                    self.move("outputs_read", at)
                self.seen.add(tile)
            last = at
        assert last is not None
        self.move("outputs_written", last)
        names = ("inputs", "weights", "outputs_read", "outputs_written")
        return TileTraffic(*(self.counters.get(name, Counter()).sum() for name in names))

    def kept(self) -> str | None:
        """The operand whose tile is the same in the first two steps; None if there is one step."""
        steps = self.steps()
        first, second = next(steps), next(steps, None)
        if second is None:
            return None
        same = [o for o, loops in OPERANDS.items() if all(first[x] == second[x] for x in loops)]
        assert len(same) == 1
        return same[0]
