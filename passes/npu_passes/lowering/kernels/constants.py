"""Find the values of learned parameters, also through arguments of outlined functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, SymbolRefAttr, f32, i8, i16, i32
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layers import SumsOp
from npu_passes.support.common import LoopOptions
from npu_passes.support.fixed_point import farthest
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.symbols import global_read
from npu_plans.kernels.rescaling import largest_sums

DTYPES: dict[Any, str] = {i8: "<i1", i16: "<i2", i32: "<i4", f32: "<f4"}


Weighted = Conv2dOp | FullyConnectedOp
Constants: TypeAlias = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]] | None]
"""The weights of a layer, and its bias or None."""

Users: TypeAlias = Mapping[str, Sequence[Operation]]
"""The ops that refer to each symbol, by its name."""


def symbol_users(ops: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Those of `ops` that refer to each symbol."""
    found: dict[str, list[Operation]] = {}
    for op in ops:
        values = op.properties.values()
        for each in (*values, *op.attributes.values()) if op.attributes else values:
            if type(each) is SymbolRefAttr:  # the class is final, and few attributes are of it
                found.setdefault(each.string_value(), []).append(op)
    return found


def constant_of(value: SSAValue, users: Users) -> NDArray[Any] | None:
    """The values of a constant buffer of i8, i16, i32 or f32; None if they are not known.

    They are known for a global with an initial value, and for an argument of a private function
    with exactly one call that passes such a global.
    """
    owner = value.owner
    if isinstance(owner, memref.GetGlobalOp):
        return numbers_of(owner)
    if not isinstance(owner, Block) or not isinstance(function := owner.parent_op(), func.FuncOp):
        return None
    call = only_call(function, users)
    index = next(i for i, each in enumerate(owner.args) if each is value)
    return None if call is None else constant_of(call.operands[index], users)


def numbers_of(op: memref.GetGlobalOp) -> NDArray[Any] | None:
    """The values of a constant global of i8, i16, i32 or f32; None for other globals."""
    found, type_ = global_read(op), memref_type(op.memref)
    if found is None or found.constant is None:
        return None
    data = found.initial_value
    if type_.element_type not in DTYPES or not isinstance(data, DenseIntOrFPElementsAttr):
        return None
    array = np.frombuffer(data.data.data, np.dtype(DTYPES[type_.element_type]))
    if array.size == 1:
        return np.full(type_.get_shape(), array[0])
    return array.reshape(type_.get_shape())


def only_call(function: func.FuncOp, users: Users) -> func.CallOp | None:
    """The call of a private function, if it is the only op that refers to it; else None."""
    visibility = function.sym_visibility
    if visibility is None or visibility.data != "private":
        return None
    found = users.get(function.sym_name.data, ())
    return found[0] if len(found) == 1 and isinstance(found[0], func.CallOp) else None


def is_plain(op: Weighted) -> bool:
    """Whether a layer has i32 sums and weights of zero point 0, and does not accumulate."""
    points = op.zero_points
    is_zero = points is not None and int_values(points)[1] == 0
    return is_zero and op.sums_element == i32 and op.accumulate is None


def farthest_input(op: Weighted) -> int:
    """The largest difference of an integer that a layer reads and the zero point."""
    point = 0 if op.zero_points is None else int_values(op.zero_points)[0]
    return farthest(memref_type(op.input).element_type, point)


def largest_sums_of(op: SumsOp, options: LoopOptions) -> list[int] | None:
    """For each filter a bound of the magnitudes of its sums; None if it is not known."""
    if not isinstance(op, Conv2dOp | FullyConnectedOp) or op.accumulate is not None:
        return None
    constants = constants_of(op, options)
    if op.zero_points is None or constants is None:
        return None
    weights, bias = constants
    point = int_values(op.zero_points)[1]
    return largest_sums(weights.astype(np.int64) - point, bias, farthest_input(op))


def constants_of(op: Weighted, options: LoopOptions) -> Constants | None:
    """The weights and the bias of a layer; None if their values are not known."""
    weights = constant_of(op.weight, options.users)
    bias = None if op.bias is None else constant_of(op.bias, options.users)
    if weights is None or (op.bias is not None and bias is None):
        return None
    return weights, bias
