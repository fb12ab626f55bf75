"""Views of maps of floats that make a layer simpler: all pixels, or all images, as one row."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.layer import Maps, has_even_pixels
from npu_passes.support.loop_builder import LoopBuilder, memref_type


def axes_of(op: Conv2dOp | FullyConnectedOp) -> tuple[Axis, Axis]:
    """The windows along rows and columns; the images of a fully connected layer are pixels."""
    if isinstance(op, Conv2dOp):
        return op.axes()
    return Axis(1, 1), Axis(shape_of(op.input)[0], 1)


def is_flat(op: Conv2dOp, maps: Maps) -> bool:
    """Whether all pixels are computed as one row: each depends on one, all at equal distances."""
    pointwise = all(a.kernel == a.stride == 1 and a.outputs == a.size for a in op.axes())
    every = [maps.input, maps.out, *([] if maps.residual is None else [maps.residual])]
    even = all(has_even_pixels(memref_type(map)) for map in every)
    return pointwise and op.pool is None and even


def in_rows(b: LoopBuilder, maps: Maps) -> Maps:
    """The maps of a layer with all pixels in one row."""
    residual = None if maps.residual is None else as_row(b, maps.residual)
    return Maps(as_row(b, maps.input), as_row(b, maps.out), residual)


def as_row(b: LoopBuilder, map: SSAValue) -> SSAValue:
    """A map [1, C, H, W], whose pixels lie at equal distances, as [1, C, 1, H * W]."""
    type_ = memref_type(map)
    _, channels, height, width = type_.get_shape()
    strides = [step or 0 for step in type_.get_strides() or ()]
    pixel = strides[3] if width > 1 else strides[2]
    return viewed(b, map, (channels, height * width), (strides[1], pixel))


def as_pixels(b: LoopBuilder, map: SSAValue) -> SSAValue:
    """A map [N, C] as one row of N pixels."""
    count, channels = memref_type(map).get_shape()
    image, channel = (step or 0 for step in memref_type(map).get_strides() or ())
    return viewed(b, map, (channels, count), (channel, image))


def viewed(
    b: LoopBuilder, map: SSAValue, extents: tuple[int, int], steps: tuple[int, int]
) -> SSAValue:
    """A map as one row [1, C, 1, W]; `extents` and `steps` are those of channels and columns."""
    source = map if memref_type(map).get_offset() == 0 else b.span(map, map.name_hint)
    (channels, width), (channel, column) = extents, steps
    shape, strides = [1, channels, 1, width], [1, channel, 1, column]
    type_ = memref_type(map)
    layout = StridedLayoutAttr(strides)
    result = MemRefType(type_.element_type, shape, layout, type_.memory_space)
    view = memref.ReinterpretCastOp(source, [], [], [], [0], shape, strides, result)
    return b.insert(view, map.name_hint).result
