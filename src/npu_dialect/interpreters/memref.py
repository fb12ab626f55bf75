"""The meaning of buffers: numpy arrays, whose views share memory as those of memrefs do."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
)
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.attributes import SRAM_OFFSET
from npu_dialect.interpreters.kept import view_of
from npu_dialect.interpreters.sram import allocate, arenas
from npu_dialect.interpreters.values import (
    Array,
    dtype_of,
    global_buffer,
    spanned,
    static_shape,
)
from npu_dialect.kept_attributes import copy_of


def load(buffer: Array, *indices: int) -> Any:
    """An element of a buffer.

    Raises: InterpretationError if it lies outside the buffer.
    """
    check_indices(buffer, indices)
    value: Any = buffer[indices]
    return value if buffer.dtype.kind == "f" else value.item()


def store(value: Any, buffer: Array, *indices: int) -> None:
    """Write an element of a buffer.

    Raises: InterpretationError if it lies outside the buffer, or the buffer is read-only.
    """
    check_indices(buffer, indices)
    if not buffer.flags.writeable:
        raise InterpretationError("store to a constant")
    buffer[indices] = value


def check_indices(buffer: Array, indices: tuple[int, ...]) -> None:
    """Check that an element lies inside a buffer, as numpy counts negative indices from the end.

    Raises: InterpretationError if it does not.
    """
    for index, extent in zip(indices, buffer.shape, strict=True):
        if not 0 <= index < extent:
            raise InterpretationError(
                f"index {list(indices)} outside a buffer of shape {list(buffer.shape)}"
            )


def mixed_lists(
    op: memref.SubviewOp | memref.ReinterpretCastOp,
) -> Callable[..., list[list[int]]]:
    """A function from the dynamic numbers of a view to its offsets, sizes and strides."""
    fields = (op.static_offsets, op.static_sizes, op.static_strides)
    statics = [list(field.iter_values()) for field in fields]

    def fill(*dynamic: int) -> list[list[int]]:
        rest = iter(dynamic)
        return [[next(rest) if n == DYNAMIC_INDEX else n for n in static] for static in statics]

    return fill


def subview(op: memref.SubviewOp) -> Callable[..., Array]:
    """A function from a buffer and dynamic numbers to a part, without the axes that are dropped.

    It raises an InterpretationError if the part is not inside the buffer.
    """
    lists, rank = mixed_lists(op), len(result_type(op.result.type).get_shape())

    def view(source: Array, *dynamic: int) -> Array:
        offsets, sizes, strides = lists(*dynamic)
        slices: list[slice] = []
        for extent, offset, size, stride in zip(source.shape, offsets, sizes, strides, strict=True):
            if offset < 0 or (size and offset + (size - 1) * stride >= extent):
                raise InterpretationError(
                    f"subview {offsets} {sizes} {strides} outside a buffer of shape "
                    f"{list(source.shape)}"
                )
            end = offset + (size - 1) * stride + 1 if size else offset
            slices.append(slice(offset, end, stride))
        part = source[tuple(slices)]
        dropped = [axis for axis, size in enumerate(sizes) if size == 1][: part.ndim - rank]
        return part.squeeze(tuple(dropped))

    return view


def reinterpret_cast(op: memref.ReinterpretCastOp) -> Callable[..., Array]:
    """A function from a buffer and dynamic numbers to a view with any strides.

    It raises an InterpretationError if the view reaches outside the buffer.
    """
    lists = mixed_lists(op)

    def view(source: Array, *dynamic: int) -> Array:
        flat = spanned(source)
        (offset,), sizes, strides = lists(*dynamic)
        last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if prod(sizes) and not 0 <= offset <= last < flat.size:
            raise InterpretationError(
                f"view of elements {offset} to {last} of a buffer with {flat.size}"
            )
        return as_strided(flat[offset:], sizes, [step * flat.itemsize for step in strides])

    return view


def result_type(type_: Attribute) -> MemRefType[Any]:
    """The type of a buffer."""
    assert isa(type_, MemRefType)
    return type_


@register_impls
class MemrefFunctions(InterpreterFunctions):
    """The memref dialect for xDSL's interpreter."""

    @impl(memref.AllocOp)
    def run_alloc(
        self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues
    ) -> PythonValues:
        """A fresh buffer, or a view of the arena if a plan says so."""
        return (allocate(interpreter, op.memref.type, SRAM_OFFSET.get(op)),)

    @impl(memref.AllocaOp)
    def run_alloca(
        self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues
    ) -> PythonValues:
        """A fresh buffer, or a view of the arena if a plan says so."""
        return (allocate(interpreter, op.memref.type, SRAM_OFFSET.get(op)),)

    @impl(memref.DeallocOp)
    def run_dealloc(self, _: Interpreter, op: memref.DeallocOp, args: PythonValues) -> PythonValues:
        """Do nothing, as Python frees memory."""
        return ()

    @impl(memref.LoadOp)
    def run_load(self, _: Interpreter, op: memref.LoadOp, args: PythonValues) -> PythonValues:
        """Read an element."""
        return (load(*args),)

    @impl(memref.StoreOp)
    def run_store(self, _: Interpreter, op: memref.StoreOp, args: PythonValues) -> PythonValues:
        """Write an element."""
        store(*args)
        return ()

    @impl(memref.CopyOp)
    def run_copy(self, _: Interpreter, op: memref.CopyOp, args: PythonValues) -> PythonValues:
        """Copy all elements."""
        source, destination = args
        if not destination.flags.writeable:
            raise InterpretationError("copy to a constant")
        destination[...] = source
        return ()

    @impl(memref.GetGlobalOp)
    def run_get_global(
        self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues
    ) -> PythonValues:
        """The buffer of a global, the same for every use, or its copy in the running arena."""
        running = arenas(interpreter)
        if running and (copied := copy_of(op)) is not None:
            return (view_of(running[-1], copied, op.memref.type),)
        buffers: dict[str, Array] = interpreter.get_data(MemrefFunctions, "globals", dict)
        name = op.name_.string_value()
        if name not in buffers:
            symbol = interpreter.get_op_for_symbol(op.name_)
            if not isinstance(symbol, memref.GlobalOp):
                raise InterpretationError(f"expected @{name} to be a memref.global")
            buffers[name] = global_buffer(symbol)
        return (buffers[name],)

    @impl(memref.GlobalOp)
    def run_global(self, _: Interpreter, op: memref.GlobalOp, args: PythonValues) -> PythonValues:
        """Do nothing, as the buffer is made at its first use."""
        return ()

    @impl(memref.DimOp)
    def run_dim(self, _: Interpreter, op: memref.DimOp, args: PythonValues) -> PythonValues:
        """The extent of an axis."""
        return (load(np.array(args[0].shape), args[1]),)

    @impl(memref.SubviewOp)
    def run_subview(self, _: Interpreter, op: memref.SubviewOp, args: PythonValues) -> PythonValues:
        """A view of a part, without the axes that the result type drops."""
        return (subview(op)(*args),)

    @impl(memref.ReinterpretCastOp)
    def run_reinterpret_cast(
        self, _: Interpreter, op: memref.ReinterpretCastOp, args: PythonValues
    ) -> PythonValues:
        """A view with any strides."""
        return (reinterpret_cast(op)(*args),)

    @impl(memref.ExpandShapeOp)
    def run_expand_shape(
        self, _: Interpreter, op: memref.ExpandShapeOp, args: PythonValues
    ) -> PythonValues:
        """A view with more axes."""
        return (reshaped(args[0], result_type(op.result.type)),)

    @impl(memref.CollapseShapeOp)
    def run_collapse_shape(
        self, _: Interpreter, op: memref.CollapseShapeOp, args: PythonValues
    ) -> PythonValues:
        """A view with fewer axes."""
        return (reshaped(args[0], result_type(op.result.type)),)

    @impl(memref.CastOp)
    def run_cast(self, _: Interpreter, op: memref.CastOp, args: PythonValues) -> PythonValues:
        """The same buffer; its extents must be those of the type that are known."""
        for want, got in zip(result_type(op.dest.type).get_shape(), args[0].shape, strict=True):
            if want not in (DYNAMIC_INDEX, got):
                raise InterpretationError(
                    f"cast of a buffer of shape {list(args[0].shape)} to {op.dest.type}"
                )
        return args

    @impl(memref.MemorySpaceCastOp)
    def run_memory_space_cast(
        self, _: Interpreter, op: memref.MemorySpaceCastOp, args: PythonValues
    ) -> PythonValues:
        """The same buffer."""
        return args

    @impl(memref.ViewOp)
    def run_view(self, _: Interpreter, op: memref.ViewOp, args: PythonValues) -> PythonValues:
        """A typed view of bytes."""
        type_ = result_type(op.result.type)
        dtype, shape = dtype_of(type_.get_element_type()), static_shape(type_)
        start, source = args[1], args[0]
        end = start + prod(shape) * dtype.itemsize
        if not 0 <= start <= end <= source.size:
            raise InterpretationError(f"view of bytes {start} to {end} of {source.size}")
        return (source[start:end].view(dtype).reshape(shape),)

    @impl(memref.ExtractAlignedPointerAsIndexOp)
    def run_extract_aligned_pointer_as_index(
        self, _: Interpreter, op: memref.ExtractAlignedPointerAsIndexOp, args: PythonValues
    ) -> PythonValues:
        """The address of the first element; it only serves to compare buffers."""
        return (args[0].ctypes.data,)


def reshaped(buffer: Array, type_: MemRefType[Any]) -> Array:
    """A view of a buffer in another shape.

    Raises: InterpretationError if the strides of the buffer do not allow such a view.
    """
    view = buffer.reshape(static_shape(type_))
    if buffer.size and not np.may_share_memory(view, buffer):
        raise InterpretationError(f"expected a buffer that is dense enough for {type_}")
    return view
