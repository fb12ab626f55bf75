"""The memory space and layout of each kind of value, as the machine needs them.

Level of IR: types only; `npu-bufferize` gives them to values.

| | machine without DMA | with DMA |
|---|---|---|
| learned parameters | `#npu.flash` | `#npu.dram` |
| inputs and outputs | `#npu.sram` (`sram.input`, `sram.output`) | `#npu.dram` (`dram.input`, ...) |
| feature maps | `#npu.sram` | `#npu.sram`, in patches |
| a streamed input | none: the caller's, row by row | - |

For a map in patches, rows and columns are rounded up to multiples of the patch: 35x35 in patches of
4x4 is stored as 36x36, `memref<1x64x35x35xf32, strided<[82944, 1296, 36, 1]>, #npu.sram>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute

from npu_dialect.attributes import DRAM_INPUT, DRAM_OUTPUT, SRAM_INPUT, SRAM_OUTPUT
from npu_dialect.keys import Key
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace, FlashSpace, SramSpace
from npu_dialect.npu.maps import is_tensor_type
from npu_dialect.target import machine_of
from npu_plans.modules.footprints import rounded


@dataclass(frozen=True)
class Spaces:
    """The memory spaces of parameters, of inputs and outputs (`ends`), and of feature maps.

    `input_mark` and `output_mark` are attributes of arguments. Maps are stored with their rows
    rounded up to a multiple of `rows`, and their columns to a multiple of `columns`. `channels` is
    the number of DMA channels; 0: no DMA engine.
    """

    parameters: Attribute = field(default_factory=FlashSpace)
    ends: Attribute = field(default_factory=SramSpace)
    maps: Attribute = field(default_factory=SramSpace)
    input_mark: Key[bool] = SRAM_INPUT
    output_mark: Key[bool] = SRAM_OUTPUT
    rows: int = 1
    columns: int = 1
    channels: int = 0

    @staticmethod
    def of(machine: Machine | None) -> Spaces:
        """The spaces of a machine; without one, those of a machine without DMA."""
        if machine is None or not machine.dma_channels:
            return Spaces()
        space = DramSpace()
        return Spaces(
            space,
            space,
            input_mark=DRAM_INPUT,
            output_mark=DRAM_OUTPUT,
            rows=machine.row_multiple,
            columns=machine.column_multiple,
            channels=machine.dma_channels,
        )

    @staticmethod
    def of_module(module: ModuleOp) -> Spaces:
        """The spaces of a module's machine."""
        return Spaces.of(machine_of(module))

    @property
    def ends_off_chip(self) -> bool:
        """Whether inputs and outputs lie in another memory space than feature maps."""
        return self.ends != self.maps

    def channel(self, wish: int) -> int:
        """The DMA channel `wish`, modulo the number of channels that the engine has."""
        return wish % self.channels

    def parameter_type(self, type_: Attribute) -> MemRefType[Attribute]:
        """The memref type for a parameter of a tensor type."""
        return dense_type(type_, self.parameters)

    def end_type(self, type_: Attribute) -> MemRefType[Attribute]:
        """The memref type for an input or output of a tensor type."""
        return dense_type(type_, self.ends)

    def stream_type(self, type_: Attribute) -> MemRefType[Attribute]:
        """The memref type for an input that the caller gives in rows: [N, H, C, W] in memory.

        It lies in no memory space of the machine, but where the caller has it.
        """
        dense = dense_type(type_, NoneAttr())
        if (shape := dense.get_shape())[1] == 1:
            return dense
        _, channels, _, width = shape
        steps = [prod(shape[1:]), width, channels * width, 1]
        return MemRefType(dense.element_type, shape, StridedLayoutAttr(steps), NoneAttr())

    def map_type(self, type_: Attribute) -> MemRefType[Attribute]:
        """The memref type for a feature map of a tensor type; several pixels lie in patches."""
        dense = dense_type(type_, self.maps)
        shape = dense.get_shape()
        if len(shape) != 4 or prod(shape[2:]) == 1 or 0 in shape:
            return dense
        height, width = rounded(shape[2], self.rows), rounded(shape[3], self.columns)
        if (height, width) == tuple(shape[2:]):
            return dense
        layout = StridedLayoutAttr(dense_strides((*shape[:2], height, width)))
        return MemRefType(dense.element_type, shape, layout, self.maps)


def dense_type(type_: Attribute, space: Attribute) -> MemRefType[Attribute]:
    """The densely laid out memref type of a tensor type."""
    assert is_tensor_type(type_)
    return MemRefType(type_.get_element_type(), type_.get_shape(), NoneAttr(), space)


def dense_strides(shape: Sequence[int]) -> list[int]:
    """The strides of a contiguous buffer in row-major order, in elements."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def reshaped(
    buffer: MemRefType[Attribute], shape: Sequence[int]
) -> tuple[MemRefType[Attribute], list[int]] | None:
    """The type and strides of a view of a buffer in another shape; None if no strides do.

    The view has the offset of the buffer, which must be static.
    """
    element, space = buffer.element_type, buffer.memory_space
    wanted = dense_strides(shape)
    if isinstance(buffer.layout, NoneAttr):
        return MemRefType(element, shape, NoneAttr(), space), wanted
    old, offset = buffer.get_strides(), buffer.get_offset()
    steps = None if old is None else reshaped_strides(buffer.get_shape(), old, shape)
    if steps is None:
        return None
    plain = steps == wanted and offset == 0
    layout = NoneAttr() if plain else StridedLayoutAttr(steps, offset)
    return MemRefType(element, shape, layout, space), steps


def reshaped_strides(
    shape: Sequence[int], strides: Sequence[int | None], wanted: Sequence[int]
) -> list[int] | None:
    """Strides for a view of a strided buffer with shape `wanted`; None if there are none."""
    runs: list[tuple[int, int]] = []  # (elements at equal distance, that distance)
    for extent, stride in zip(shape, strides, strict=True):
        if stride is None:
            return None
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    left, step = 1, 1
    steps: list[int] = []
    for extent in reversed(wanted):
        if left == 1 and runs and extent > 1:
            left, step = runs.pop()
        if left % extent:
            return None
        steps.append(step)
        left, step = left // extent, step * extent
    return steps[::-1]
