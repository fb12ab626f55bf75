"""The layers of a chain, and what they need on chip: IR read into the data of `npu_plans/rows`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from npu_dialect.arguments import argument_attributes, is_state
from npu_dialect.attributes import LAYER, VALUE
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AvgPool2dOp,
    Conv2dOp,
    MaxPool2dOp,
    ReshapeOp,
    ViewOp,
)
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED
from npu_dialect.npu.row_windows import RowWindow, reads_row, row_axis, row_window
from npu_dialect.npu.structure import is_constant
from npu_passes.buffers.buffer_plan import only_returned
from npu_passes.buffers.choose_layouts import BY_WINDOWS, WORD, computes_rows
from npu_passes.modules.layer_reader import is_flattening
from npu_passes.support.images import is_image_view
from npu_plans.modules.footprints import Storage
from npu_plans.rows.choose import Link
from npu_plans.rows.least_traffic import Chain, ChainLayer, ChainMap


@dataclass(frozen=True)
class Streamed:
    """A layer of a chain; `index` is the position in its inputs of the map that it streams."""

    layer: LayerOp
    index: int

    @property
    def source(self) -> SSAValue:
        """The map that the layer streams."""
        return self.layer.inputs[self.index]

    @property
    def sides(self) -> list[SSAValue]:
        """The other maps."""
        return [value for value in self.layer.maps if value is not self.source]

    @property
    def parameters(self) -> list[SSAValue]:
        """What lies in memory for parameters: these, and sides that are constants."""
        return [*self.layer.parameter_inputs, *filter(is_constant, self.sides)]


def apart(op: LayerOp) -> list[LayerOp]:
    """The two parts, convolution and pool, of a convolution with overlapping pooling windows.

    Any other layer is its only part.

    The new ops are not in any block yet.
    """
    if not isinstance(op, Conv2dOp) or op.pool is None or not op.pool.overlaps:
        return [op]
    type_ = map_type(op.results[0])
    conv = op.rebuilt(op.inputs, type(type_)(type_.get_element_type(), op.conv_shape()))
    conv.change_epilogue(pool=None, overlap=None)
    VALUE.drop(conv)
    kinds = MaxPool2dOp if op.pool.is_max else AvgPool2dOp
    pool = kinds(conv.results[0], op.pool, type_)
    if op.layer_name is not None:
        LAYER.set(pool, f"{op.layer_name}_pool")
    VALUE.copy(op, pool)
    return [conv, pool]


def discard(op: LayerOp, parts: list[LayerOp]) -> None:
    """Erase the parts of an op that `apart` has created."""
    for part in reversed(parts):
        if part is not op:
            part.erase()


def link_of(
    unit: Sequence[Streamed], rest: Sequence[Streamed], *, weights: bool, overlays: bool
) -> Link:
    """The sizes of a layer in bytes; `weights`: whether its parameters must be on chip.

    `rest`: the layer and those behind it. Their further maps are alive while it runs, unless they
    are computed later. A slice keeps its whole buffer alive. `overlays`: whether outputs may be
    laid over inputs later.
    """
    windows = [window for step in unit for window in windows_of(step)]
    parameters = sum(bytes_of(map_type(value)) for step in unit for value in step.parameters)
    source = buffer_of(unit[0].source)
    sides: dict[Hashable, int] = {
        buffer: bytes_of(map_type(buffer))
        for each in rest
        for buffer in map(buffer_of, each.sides)
        if not is_constant(buffer) and is_ready(buffer, unit[0].layer)
    }
    sides.pop(source, None)
    return Link(
        bytes_of(map_type(source)),
        bytes_of(map_type(unit[-1].layer.results[0])),
        windows[0][1],
        sum(size for _, size in windows[1:]),
        parameters if weights else 0,
        not windows[0][0].padded,
        source=source,
        sides=sides,
        in_place=any(overwrites_a_side(step) for step in unit),
        dies=overlays and unit[0].source.has_one_use() and has_rows_in_order(unit[0].source),
        behind=bytes_behind(unit[-1].layer.results[0], windows[0][0]) if overlays else None,
    )


def has_rows_in_order(value: SSAValue) -> bool:
    """Whether the rows of a map will follow each other in memory.

    So it is for one channel, and where `npu-choose-layouts` puts the channels last: for quantised
    maps that are no inputs. So it can be where `lies_by_rows`.
    """
    shape = shape_of(value)
    if len(shape) != 4:
        return False
    quantised = map_type(value).get_element_type() in QUANTISED
    last = quantised and shape[1] >= WORD and isinstance(value.owner, Operation)
    return shape[1] == 1 or last or lies_by_rows(value)


def lies_by_rows(value: SSAValue) -> bool:
    """Whether a map [1, C, H, W] can be stored as [H, C, W]: an input of the function, or floats.

    An image with channels last is stored as [H, W, C], which is as good.

    Only layers with windows and element-wise ones may read and write it, or flatten it.
    """
    users = [use.operation for use in value.uses]
    shape, owner = shape_of(value), value.owner
    if len(shape) != 4 or shape[0] != 1:
        return False
    if is_image_view(owner):
        return True
    if isinstance(owner, Operation):
        floats = map_type(value).get_element_type() == f32 and computes_rows(owner)
        return floats and all(map(takes_rows, users))
    return all(isinstance(user, BY_WINDOWS) for user in users)


def takes_rows(user: Operation) -> bool:
    """Whether a layer reads a map that is stored row by row."""
    return computes_rows(user) or (isinstance(user, ReshapeOp) and is_flattening(user))


def bytes_behind(value: SSAValue, rows: RowWindow) -> int | None:
    """By how many bytes a map stays behind the rows of the IFM that are read; None if it cannot.

    It is as many of its rows as lie between a row and the first one that the row needs, and one.
    """
    if not has_rows_in_order(value):
        return None
    row = bytes_of(map_type(value)) // max(1, shape_of(value)[row_axis(value)])
    return row * (1 + -(-rows.before // rows.stride))


def overwrites_a_side(step: Streamed) -> bool:
    """Whether a layer may overwrite a further map that nothing reads later."""
    op = step.layer
    places = [op.inputs[index] for index in op.in_place_inputs()]
    return any(
        value in places
        and value.type == op.results[0].type
        and isinstance(value.owner, Operation)
        and not is_constant(value)
        and all(use.operation is op or use.operation.is_before_in_block(op) for use in value.uses)
        for value in step.sides
    )


def buffer_of(value: SSAValue) -> SSAValue:
    """The map in whose buffer a map lies: itself, unless it is a view."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.input
    return value


def is_ready(value: SSAValue, layer: LayerOp) -> bool:
    """Whether a map is computed before a layer runs."""
    owner = value.owner
    return isinstance(owner, Block) or owner.is_before_in_block(layer)


def windows_of(step: Streamed) -> list[tuple[RowWindow, int]]:
    """The row windows of a layer, or of its two parts, each with the bytes of its rows."""
    parts = apart(step.layer)
    if len(parts) == 1:
        return [window_bytes(step.layer, step.source)]
    found = [window_bytes(part, part.maps[0]) for part in parts]
    discard(step.layer, parts)
    return found


def chain_of(steps: Sequence[Streamed], storage: Storage) -> Chain:
    """The sizes in bytes of a chain of layers, for a machine on which maps can leave the chip."""
    first, last = steps[0].source, steps[-1].layer.results[0]
    argument = isinstance(first, BlockArgument) and isinstance(first.owner.parent_op(), FuncOp)
    outside = argument and not is_state(argument_attributes(first))
    maps = [
        chain_map(first, storage, outside=outside),
        *(chain_map(step.layer.results[0], storage, outside=False) for step in steps[:-1]),
        chain_map(last, storage, outside=only_returned(last)),
    ]
    return Chain(maps, [chain_layer(step, storage) for step in steps])


def chain_map(value: SSAValue, storage: Storage, *, outside: bool) -> ChainMap:
    """The sizes of a map in bytes; `outside`: it is always off chip."""
    shape, moved = shape_of(value), bytes_of(map_type(value))
    full = storage.map_bytes(shape, moved // max(1, prod(shape))).full
    return ChainMap(full, moved, moved // max(1, shape[row_axis(value)]), outside)


def chain_layer(step: Streamed, storage: Storage) -> ChainLayer:
    """The bytes that a layer needs on chip beside its maps.

    A layer that runs by itself has one group of kernels on chip at a time, and all biases, other
    vectors and further maps. In a run, one row of a further map is enough for some layers.
    """
    op, windows = step.layer, windows_of(step)
    weights = partial = 0
    for value in (*op.parameter_inputs, *step.sides):
        size, shape = bytes_of(map_type(value)), shape_of(value)
        weights += size // shape[-2] if reads_row(op, step.source, value) else size
        partial += partial_bytes(op, value, storage)
    dies = step.source.has_one_use() and not isinstance(step.source, BlockArgument)
    return ChainLayer(
        windows[0][1],
        sum(size for _, size in windows[1:]),
        weights,
        partial,
        not windows[0][0].padded,
        op.ELEMENTWISE and dies,
    )


def partial_bytes(op: LayerOp, value: SSAValue, storage: Storage) -> int:
    """Bytes of an input of a layer that are on chip at a time: of its kernels, one group."""
    size, shape = bytes_of(map_type(value)), shape_of(value)
    if value in op.parameter_inputs and len(shape) > 1 and shape[0]:
        return storage.part(shape[0], max(1, storage.kernel_group)) * (size // shape[0])
    return size


def window_bytes(layer: LayerOp, value: SSAValue) -> tuple[RowWindow, int]:
    """The row window of a layer that is known to have one, and the bytes of its rows."""
    rows, axis = row_window(layer, value), row_axis(value)
    assert rows is not None
    return rows, bytes_of(map_type(value)) // shape_of(value)[axis] * rows.reach
