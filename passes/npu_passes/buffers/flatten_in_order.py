"""Flattened maps in another layout: the weights behind them are permuted instead.

    %v = memref.reinterpret_cast %map to offset: [0], sizes: [1, 400], strides: [400, 1]
    npu.fully_connected ins(%v, %w ...)              // %w: memref<120x400xi8>, a constant

%map, [1, 16, 5, 5], is flattened channel by channel. If it is stored with its channels last, the
same view gives its elements pixel by pixel. The layer computes the same if the columns of its
weights are in that order too. So a map in front of fully connected layers need not keep the model's
layout. The weights must be a constant that nothing else reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation

from npu_dialect.npu import FullyConnectedOp
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_passes.support.symbols import global_of


def is_flattened(view: Operation, module: ModuleOp) -> bool:
    """Whether an op flattens a map, image by image, for fully connected layers alone.

    Their weights must be constants that nothing else reads.
    """
    if not isinstance(view, memref.ReinterpretCastOp) or not is_buffer_type(view.result.type):
        return False
    images, *rest = shape_of(view.source)
    type_, size = view.result.type, prod(rest)
    dense = type_.get_strides() == (size, 1) and type_.get_offset() == 0
    if tuple(type_.get_shape()) != (images, size) or not dense:
        return False
    users = [use.operation for use in view.result.uses]
    return bool(users) and all(
        isinstance(user, FullyConnectedOp)
        and user.input is view.result
        and own_weights(user, module) is not None
        for user in users
    )


def own_weights(layer: FullyConnectedOp, module: ModuleOp) -> memref.GlobalOp | None:
    """The constant that holds the weights of a layer; None if others may read it too."""
    get = layer.weight.owner
    if not isinstance(get, memref.GetGlobalOp) or not get.memref.has_one_use():
        return None
    for op in module.walk():
        if isinstance(op, memref.GetGlobalOp) and op is not get and op.name_ == get.name_:
            return None
    found = global_of(module, get.name_.string_value())
    is_known = found is not None and isinstance(found.initial_value, DenseIntOrFPElementsAttr)
    return found if is_known else None


def permute_weights(view: memref.ReinterpretCastOp, module: ModuleOp, order: Sequence[int]) -> None:
    """Put the columns of the weights behind a flattened map in the order of its elements.

    `order` has the axes of a stored image of the map [N, C, H, W] from the outermost one on, so
    (2, 3, 1) for channels last.
    """
    _, *extents = shape_of(view.source)
    for use in list(view.result.uses):
        layer = use.operation
        assert isinstance(layer, FullyConnectedOp)
        found = own_weights(layer, module)
        assert found is not None
        value = found.initial_value
        assert isinstance(value, DenseIntOrFPElementsAttr)
        rows, columns = shape_of(layer.weight)
        data = np.frombuffer(value.data.data, np.uint8)
        width = len(data) // (rows * columns)
        if width == 0:  # one number for all
            continue
        parts = data.reshape(rows, *extents, width)
        moved = np.ascontiguousarray(parts.transpose(0, *order, len(extents) + 1)).tobytes()
        found.initial_value = DenseIntOrFPElementsAttr(value.type, BytesAttr(moved))
