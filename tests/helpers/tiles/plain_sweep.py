"""The search of `tile_search.py` in plain loops over integers.

Tests compare the optimum with it, and `bench/tiling.py` the time. It prunes no candidate. Of the
package it uses only the shape of a layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

from npu_plans.tiles.cost_model import LOOPS, DmaCosts, Tile
from npu_plans.tiles.layer_shape import ConvShape, WindowAxis


@dataclass(frozen=True)
class Best:
    """The best candidate. `key`: objective, other objective, footprint, order index, sizes."""

    key: tuple[float, float, int, int, int, int, int, int]
    candidates: int

    @property
    def tile(self) -> Tile:
        return Tile(*self.key[4:])


@dataclass(frozen=True)
class Window:
    """Tiles of one size along rows or columns."""

    size: int
    tiles: int
    loaded: int
    stored: int
    whole: int


def sizes(extent: int, divisors_only: bool) -> list[int]:
    return [size for size in range(1, extent + 1) if not divisors_only or extent % size == 0]


def windows(axis: WindowAxis, divisors_only: bool) -> list[Window]:
    found: list[Window] = []
    for size in sizes(axis.outputs, divisors_only):
        firsts = range(0, axis.outputs, size)
        reads = [len(axis.reads(f, min(f + size, axis.outputs))) for f in firsts]
        whole = reads.count(axis.extent)
        found.append(Window(size, len(reads), sum(reads), max(reads), whole))
    return found


@dataclass(frozen=True)
class Point:
    """One candidate of the physical model."""

    layer: ConvShape
    rows: Window
    columns: Window
    k: int
    z: int

    def operands(self) -> tuple[int, int, int]:
        """Bytes of an input, output and weight tile."""
        widths, kernel = self.layer.element_bytes, self.layer.kernel_elements
        inputs = self.rows.stored * self.columns.stored * self.k * widths.input
        outputs = self.rows.size * self.columns.size * self.z * widths.output
        return inputs, outputs, self.z * (self.k * kernel * widths.weight + widths.bias)

    def trips(self) -> dict[str, int]:
        k, z = -(-self.layer.channels_in // self.k), -(-self.layer.channels_out // self.z)
        return {"s": self.rows.tiles, "t": self.columns.tiles, "k": k, "z": z}

    def footprint(self, order: str, single: bool) -> int:
        inputs, outputs, weights = self.operands()
        total = inputs + outputs + weights
        if not single:
            return 2 * total
        trips = self.trips()
        for loop in reversed(order):
            if trips[loop] > 1:
                return 2 * total - {"k": outputs, "z": inputs}.get(loop, weights)
        return total

    def moved(self, order: str, dma: DmaCosts) -> tuple[int, float]:
        """Bytes that move, and T."""
        layer, rows, columns, trips = self.layer, self.rows, self.columns, self.trips()
        s, t, k, z = (trips[loop] for loop in LOOPS)
        maps_in, maps_out, widths = layer.channels_in, layer.channels_out, layer.element_bytes

        def again(free: str) -> int:
            """How often the loop `free`, which does not index an operand, repeats its transfers."""
            inside = order[order.index(free) + 1 :]
            return trips[free] if any(trips[loop] > 1 for loop in inside) else 1

        inputs = again("z")
        weights = 1
        for free in "st":
            inside = order[order.index(free) + 1 :]
            if any(trips[loop] > 1 for loop in inside if loop in "kz"):
                weights *= trips[free]
        outputs = 2 * again("k") - 1

        in_elements = inputs * rows.loaded * columns.loaded * maps_in
        kernels = weights * maps_in * maps_out * layer.kernel_elements
        biases = weights * k * maps_out
        out_elements = outputs * layer.output_elements
        parts, whole = t - columns.whole, columns.whole
        in_runs = rows.loaded * parts * maps_in
        in_runs += whole * ((s - rows.whole) * maps_in + rows.whole * k)
        if t > 1:
            out_runs = layer.rows.outputs * t * maps_out
        else:
            out_runs = s * maps_out if s > 1 else z
        stacks = z if k == 1 else maps_out * k
        transfers = inputs * s * t * k + weights * k * z + outputs * s * t * z
        jumps = inputs * in_runs + weights * (stacks + k * z) + outputs * out_runs
        elements = in_elements + kernels + biases + out_elements
        moved = in_elements * widths.input + kernels * widths.weight
        moved += biases * widths.bias + out_elements * widths.output
        return moved, transfers * dma.start + jumps * dma.jump + elements * dma.element


def sweep(
    layer: ConvShape,
    ocm_bytes: int,
    dma: DmaCosts,
    *,
    divisors_only: bool,
    any_order: bool,
    single: bool,
    minimize_bytes: bool,
) -> Best | None:
    """The best candidate of the physical model, or None if nothing fits."""
    orders = ["".join(o) for o in permutations(LOOPS)] if any_order else [LOOPS]
    best = None
    tried = 0
    for rows, columns, k, z in product(
        windows(layer.rows, divisors_only),
        windows(layer.columns, divisors_only),
        sizes(layer.channels_in, divisors_only),
        sizes(layer.channels_out, divisors_only),
    ):
        point = Point(layer, rows, columns, k, z)
        for index, order in enumerate(orders):
            tried += 1
            footprint = point.footprint(order, single)
            if footprint > ocm_bytes:
                continue
            moved, cost = point.moved(order, dma)
            first, second = (moved, cost) if minimize_bytes else (cost, moved)
            key = (first, second, footprint, index, rows.size, columns.size, k, z)
            if best is None or key < best:
                best = key
    return None if best is None else Best(best, tried)
