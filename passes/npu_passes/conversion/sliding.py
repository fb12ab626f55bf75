"""Layers with sliding windows and fully connected layers, from the operands of foreign ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.layers import (
    AvgPool2dOp,
    Conv2dOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    MaxPool2dOp,
    ReshapeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import limits_of
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.foreign import NoEquivalent, constant_array, is_constant
from npu_passes.conversion.stored import Perm, Stored, identity, inverse

Pads = tuple[int, int, int, int]
"""Pads at the top, left, bottom and right of a map."""

LARGEST_FLOAT = float(np.finfo(np.float32).max)
"""Bounds of at least this magnitude are none."""


@dataclass(frozen=True)
class Slides:
    """How a kernel or window moves over rows and columns, and where the tensor has its axes.

    `channels_first` is the order of a tensor's axes that gives [N, C, H, W].
    """

    channels_first: Perm
    strides: Sequence[int] = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: Sequence[int] = (1, 1)

    @property
    def back(self) -> Perm:
        """The order of a map [N, C, H, W] that gives the tensor."""
        return inverse(self.channels_first)


def pad_limits(element: Attribute) -> tuple[float, ...]:
    """What a padding may hold so that no maximum sees it."""
    return (-inf, -LARGEST_FLOAT) if not isa(element, IntegerType) else (limits_of(element)[0],)


def padded_input(
    builder: LayerBuilder, value: SSAValue, slides: Slides, fills: Sequence[float]
) -> tuple[SSAValue, Pads]:
    """An input as a map [N, C, H, W], and the pads of the layer around it.

    Pads that an op before has put around the input become pads of the layer, if they hold one of
    `fills` and are those of rows and columns.
    """
    stored = builder.stored(value).transposed(slides.channels_first)
    if len(stored.perm) != 4:
        raise NoEquivalent(f"expected a tensor of 4 axes, got {value.type}")
    around = stored.pads or ((0, 0),) * 4
    if any(around[0] + around[1]) or (stored.pads and stored.fill not in fills):
        return builder.as_is(stored), slides.pads
    (top, bottom), (left, right) = around[2:]
    own = slides.pads
    pads = (own[0] + top, own[1] + left, own[2] + bottom, own[3] + right)
    return builder.as_is(Stored(stored.value, stored.perm)), pads


def convolution(
    builder: LayerBuilder,
    image: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    slides: Slides,
    *,
    groups: int = 1,
    zero_points: tuple[int, ...] = (0, 0),
) -> Stored:
    """A convolution; `weight` is [O, C / groups, KH, KW], `bias` [O] or None."""
    fill = zero_points[0]
    source, pads = padded_input(builder, image, slides, [fill])
    is_float = not isinstance(element_of(source), IntegerType)
    value = builder.emit(
        lambda out: Conv2dOp(
            source,
            weight,
            bias,
            out,
            strides=slides.strides,
            pads=pads,
            dilations=slides.dilations,
            groups=groups,
            zero_points=None if is_float else zero_points,
        ),
        None if is_float else i32,
    )
    return Stored(value, slides.back)


def fully_connected(
    builder: LayerBuilder,
    source: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    zero_points: tuple[int, ...] = (0, 0),
) -> Stored:
    """A fully connected layer of a map [N, I] with a weight [O, I]."""
    is_float = not isinstance(element_of(source), IntegerType)
    points = None if is_float else zero_points
    value = builder.emit(
        lambda out: FullyConnectedOp(source, weight, bias, out, zero_points=points),
        None if is_float else i32,
    )
    return Stored.plain(value)


def max_pool(
    builder: LayerBuilder, image: SSAValue, kernel: Sequence[int], slides: Slides
) -> Stored:
    """A maximum over a sliding window."""
    limits = pad_limits(element_of(image))
    source, pads = padded_input(builder, image, slides, limits)
    window = PoolAttr.of("max", kernel, slides.strides, pads, slides.dilations)
    return Stored(builder.emit(lambda out: MaxPool2dOp(source, window, out)), slides.back)


def avg_pool(
    builder: LayerBuilder, image: SSAValue, kernel: Sequence[int], slides: Slides
) -> Stored:
    """An average over a sliding window, whose own padding does not count.

    Zeros that an op before has put around the input do count.
    """
    if any(slides.pads):
        source, pads, counts = builder.ordered(image, slides.channels_first), slides.pads, False
    else:
        source, pads = padded_input(builder, image, slides, [0.0])
        counts = any(pads)
    window = PoolAttr.of("avg", kernel, slides.strides, pads, count_include_pad=counts)
    if covers(window, source):
        return Stored(builder.emit(lambda out: GlobalAvgPool2dOp(source, out)), slides.back)
    return Stored(builder.emit(lambda out: AvgPool2dOp(source, window, out)), slides.back)


def covers(window: PoolAttr, source: SSAValue) -> bool:
    """Whether a window is the whole of a map [N, C, H, W]."""
    whole = PoolAttr.of("avg", shape_of(source)[2:], (1, 1))
    return window.kernel == whole.kernel and window.pads == whole.pads


def bias_of(builder: LayerBuilder, value: SSAValue, count: int) -> SSAValue | None:
    """A bias [O], from a constant of `count` numbers or of one; None for zeros.

    Raises: NoEquivalent if it is no vector.
    """
    array = constant_array(value)
    if array is not None and not array.any():
        return None
    shape = shape_of(value)
    if array is not None and array.size == 1 and count != 1:
        full = np.broadcast_to(array.reshape(-1), (count,))
        return builder.numbers(full, element_of(value), value.name_hint)
    if max(shape, default=1) != count or np.prod(shape) != count:
        raise NoEquivalent(f"expected a bias of {count} elements, got {value.type}")
    if is_constant(value):
        return builder.constant(value, identity(len(shape)), [count])
    return builder.reshaped(builder.ordered(value, identity(len(shape))), [count])


def with_bias(
    builder: LayerBuilder, stored: Stored, addend: Stored, shape: tuple[int, ...]
) -> Stored | None:
    """The sum of a layer without bias and a constant, one number a channel, as one layer.

    `shape` is that of the sum. None if the map is no such layer, or the constant something else.
    """
    view = stored.value.owner if isinstance(stored.value.owner, ReshapeOp) else None
    source = stored.value if view is None else view.input
    layer = source.owner
    if not isinstance(layer, Conv2dOp | FullyConnectedOp) or layer.bias is not None:
        return None
    if stored.pads or not is_constant(addend.value) or stored.shape != shape:
        return None
    channels = shape_of(source)[1]
    axis = len(shape) - 1 if view is not None else stored.perm.index(1)
    wanted = tuple(channels if place == axis else 1 for place in range(len(shape)))
    given = addend.shape
    if (1,) * (len(shape) - len(given)) + given != wanted:
        return None
    if view is not None and (shape[-1] != channels or stored.perm != identity(len(shape))):
        return None
    bias = builder.constant(addend.value, addend.perm, [channels])
    kind = Conv2dOp if isinstance(layer, Conv2dOp) else FullyConnectedOp
    new = kind(layer.input, layer.weight, bias, layer.results[0].type)
    new.properties |= {**layer.properties, **{SEGMENTS: new.properties[SEGMENTS]}}
    new.attributes |= layer.attributes
    value = builder.add(new, layer.results[0].name_hint)
    return Stored(value if view is None else builder.reshaped(value, shape), stored.perm)


SEGMENTS = "operandSegmentSizes"
"""The property that says how many operands an op has of each kind."""
