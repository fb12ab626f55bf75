"""Traffic and footprint of tilings in closed form, for all candidates at once. No IR in here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from npu_plans.tiles.cost_model import (
    LOOPS,
    Conventions,
    DmaCosts,
    OperandTraffic,
    Tile,
    TileTraffic,
    check_order,
)
from npu_plans.tiles.layer_shape import ConvShape
from npu_plans.tiles.tile_axes import Axes, Ints, axes_of_tile

Stationary = Literal["single", "double-buffered", "all-single"]
"""How many tile buffers the stationary operand has, which the innermost loop does not change.

`single`: one; `double-buffered`: two, as the other operands have. With `all-single`, which is not
in the paper, every operand has one.
"""

PHYSICAL = Conventions()
"""The conventions of a DMA engine: it moves only what it has to."""

ZERO: Ints = np.zeros((), np.int64)


@dataclass(frozen=True)
class MovedArrays:
    """`OperandTraffic` for every candidate."""

    transfers: Ints
    jumps: Ints
    elements: Ints
    bytes: Ints

    def pick(self) -> OperandTraffic:
        """The numbers of the only candidate.

        Raises: ValueError if there are several.
        """
        arrays = (self.transfers, self.jumps, self.elements, self.bytes)
        return OperandTraffic(*(int(array.item()) for array in arrays))


@dataclass(frozen=True)
class TrafficArrays:
    """`TileTraffic` for every candidate."""

    inputs: MovedArrays
    weights: MovedArrays
    outputs_read: MovedArrays
    outputs_written: MovedArrays

    @property
    def parts(self) -> tuple[MovedArrays, ...]:
        """The parts, one for each operand; outputs have two."""
        return (self.inputs, self.weights, self.outputs_read, self.outputs_written)

    def bytes(self) -> Ints:
        """Bytes moved by all operands."""
        return sum((part.bytes for part in self.parts), ZERO)

    def cost(self, dma: DmaCosts) -> Ints | npt.NDArray[np.float64]:
        """T of all operands; exact integers if C, p and t are integers."""
        transfers = sum((part.transfers for part in self.parts), ZERO)
        jumps = sum((part.jumps for part in self.parts), ZERO)
        elements = sum((part.elements for part in self.parts), ZERO)
        return transfers * dma.start + jumps * dma.jump + elements * dma.element


def passes(axes: Axes, order: str, operand: str, conventions: Conventions) -> Ints:
    """How often each tile of an operand is brought on chip, for every candidate.

    `operand` names the loops that index the operand. A loop that does not index it repeats its
    transfers if a loop inside that loop indexes it. With `reload_changed_only`, the inner loop must
    also take more than one step.
    """
    repeats = np.ones((1,) * len(LOOPS), np.int64)
    moved = np.zeros(repeats.shape, np.bool_)
    for loop in reversed(order):
        count = axes.counts[loop]
        if loop in operand:
            moved = moved | (count > 1) if conventions.reload_changed_only else moved | True
        else:
            repeats = repeats * np.where(moved, count, 1)
    return repeats


def input_jumps(axes: Axes, conventions: Conventions) -> Ints:
    """Contiguous runs of addresses in one pass over all input tiles, for every candidate."""
    rows, columns, channels = axes.rows, axes.columns, axes.channels_in
    by_rows = rows.loaded * columns.tiles * channels.covered
    if not conventions.merge_runs:
        return by_rows
    whole_columns = columns.tiles - columns.parts
    whole_rows = rows.tiles - rows.parts
    narrow = rows.loaded * columns.parts * channels.covered
    wide = rows.parts * whole_columns * channels.covered
    return narrow + wide + whole_rows * whole_columns * channels.tiles


def output_jumps(axes: Axes, conventions: Conventions) -> Ints:
    """Contiguous runs of addresses in one pass over all output tiles, for every candidate."""
    rows, columns, channels = axes.rows, axes.columns, axes.channels_out
    by_rows = rows.covered * columns.tiles * channels.covered
    if not conventions.merge_runs:
        return by_rows
    wide = np.where(rows.tiles == 1, channels.tiles, rows.tiles * channels.covered)
    return np.where(columns.tiles == 1, wide, by_rows)


def weight_jumps(axes: Axes, conventions: Conventions) -> Ints:
    """Contiguous runs of addresses in one pass over all weight tiles, for every candidate.

    The kernels of one output channel are contiguous, as weights are OIHW. Biases are not counted.
    """
    stacks = axes.channels_out.covered * axes.channels_in.tiles
    if conventions.merge_runs:
        stacks = np.where(axes.channels_in.tiles == 1, axes.channels_out.tiles, stacks)
    return stacks


@dataclass(frozen=True)
class Repeats:
    """How often each tile of each operand is moved, for every candidate under one loop order.

    `read` and `written` are for outputs.
    """

    inputs: Ints
    weights: Ints
    read: Ints
    written: Ints

    @staticmethod
    def of(axes: Axes, order: str, conventions: Conventions) -> Repeats:
        """The repeats of every candidate under a loop order."""
        written = passes(axes, order, "stz", conventions)
        return Repeats(
            passes(axes, order, "stk", conventions),
            passes(axes, order, "kz", conventions),
            written - 1 if conventions.skip_first_read else written,
            written,
        )


def input_elements(layer: ConvShape, axes: Axes) -> Ints:
    """Elements moved in one pass over all input tiles, for every candidate."""
    elements = axes.rows.loaded * axes.columns.loaded * axes.channels_in.covered
    return elements * layer.moves("input")


def kernel_elements(layer: ConvShape, axes: Axes) -> Ints:
    """Elements moved in one pass over the kernels of all weight tiles, for every candidate."""
    stacks = axes.channels_in.covered * axes.channels_out.covered
    return stacks * (layer.kernel_elements * layer.moves("weight"))


def bias_elements(layer: ConvShape, axes: Axes) -> Ints:
    """Elements moved in one pass over the biases of all weight tiles, for every candidate."""
    return axes.channels_out.covered * axes.channels_in.tiles * layer.moves("bias")


def output_elements(layer: ConvShape, axes: Axes) -> Ints:
    """Elements moved in one pass over all output tiles, for every candidate."""
    elements = axes.rows.covered * axes.columns.covered * axes.channels_out.covered
    return elements * layer.moves("output")


def bytes_arrays(layer: ConvShape, axes: Axes, order: str, conventions: Conventions) -> Ints:
    """The bytes that every candidate moves under one loop order: `traffic_arrays`, but faster."""
    widths, repeats = layer.element_bytes, Repeats.of(axes, order, conventions)
    kernels = kernel_elements(layer, axes) * widths.weight
    weights = kernels + bias_elements(layer, axes) * widths.bias
    inputs = input_elements(layer, axes) * widths.input * repeats.inputs
    outputs = output_elements(layer, axes) * widths.output * (repeats.read + repeats.written)
    return inputs + weights * repeats.weights + outputs


def traffic_arrays(
    layer: ConvShape, axes: Axes, order: str, conventions: Conventions
) -> TrafficArrays:
    """The traffic of every candidate under one loop order."""
    rows, columns, ins, outs = axes.rows, axes.columns, axes.channels_in, axes.channels_out
    widths, repeats = layer.element_bytes, Repeats.of(axes, order, conventions)

    times, moves = repeats.inputs, layer.moves("input")
    elements = input_elements(layer, axes) * times
    transfers = rows.tiles * columns.tiles * ins.tiles * times * moves
    jumps = input_jumps(axes, conventions) * times * moves
    inputs = MovedArrays(transfers, jumps, elements, elements * widths.input)

    times = repeats.weights
    has_kernels, has_biases = layer.moves("weight"), layer.moves("bias")
    kernels = kernel_elements(layer, axes) * times
    biases = bias_elements(layer, axes) * times
    moved = kernels * widths.weight + biases * widths.bias
    tiles = ins.tiles * outs.tiles * times
    jumps = weight_jumps(axes, conventions) * times * has_kernels + tiles * has_biases
    weights = MovedArrays(tiles * max(has_kernels, has_biases), jumps, kernels + biases, moved)

    def outputs(times: Ints) -> MovedArrays:
        times = times * layer.moves("output")
        elements = output_elements(layer, axes) * times
        transfers = rows.tiles * columns.tiles * outs.tiles * times
        jumps = output_jumps(axes, conventions) * times
        return MovedArrays(transfers, jumps, elements, elements * widths.output)

    return TrafficArrays(inputs, weights, outputs(repeats.read), outputs(repeats.written))


def footprint_arrays(layer: ConvShape, axes: Axes, order: str, stationary: Stationary) -> Ints:
    """Bytes of tile buffers on chip, for every candidate.

    Each operand has two buffers, unless `stationary` says otherwise; held operands have none. The
    stationary operand is the one that the innermost loop of more than one step does not change. It
    is loaded between two sweeps of that loop; with a single buffer, this load does not overlap with
    computing. With `single`, a layer of one step has one buffer for each operand.
    """
    widths = layer.element_bytes
    ins, outs = axes.channels_in, axes.channels_out
    inputs = axes.rows.stored * axes.columns.stored * ins.size * widths.input
    inputs = inputs * layer.moves("input")
    outputs = axes.rows.size * axes.columns.size * outs.size * widths.output * layer.moves("output")
    kernels = ins.size * outs.size * layer.kernel_elements * widths.weight * layer.moves("weight")
    weights = kernels + outs.size * widths.bias * layer.moves("bias")
    total = inputs + outputs + weights
    if stationary == "all-single":
        return total
    if stationary == "double-buffered":
        return 2 * total
    kept_by = {"s": weights, "t": weights, "k": outputs, "z": inputs}
    kept = total
    for loop in order:
        kept = np.where(axes.counts[loop] > 1, kept_by[loop], kept)
    return 2 * total - kept


def traffic_of(
    layer: ConvShape, tile: Tile, order: str = LOOPS, conventions: Conventions = PHYSICAL
) -> TileTraffic:
    """The traffic of a layer with one tile.

    Raises: TilingError if the order or the tile is invalid.
    """
    check_order(order)
    found = traffic_arrays(layer, axes_of_tile(layer, tile, conventions), order, conventions)
    return TileTraffic(*(part.pick() for part in found.parts))
