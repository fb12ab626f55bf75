"""The rules of `tosa` for quantised integers: rescale, averages, sums of two maps.

A multiplier and a shift of `tosa.rescale` are one scale, multiplier * 2^-shift, which float64 holds
exactly. The modes `half_up` and `double_round` of the layers round as `tosa` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ldexp

from xdsl.dialects.builtin import IntegerType, Signedness, i32
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.enums import Mode
from npu_dialect.npu.layers import QuantizedAvgPool2dOp, RequantizeOp
from npu_dialect.npu.quantization import QUANTISED, Multiplier, ui8
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.foreign import Foreign, NoEquivalent, constant_array
from npu_passes.conversion.sliding import avg_pool
from npu_passes.conversion.stored import Stored
from npu_passes.conversion.tosa_layers import TOSA_LAYERS, slides_of

SINGLE, DOUBLE = "SINGLE_ROUND", "DOUBLE_ROUND"


def zero_point(op: Foreign, name: str, index: int) -> int:
    """A zero point: an attribute in MLIR 19, a constant operand in later versions."""
    found = op.number(name)
    return int(op.scalar(index)) if found is None else int(found)


def numbers(op: Foreign, name: str, index: int) -> Sequence[int]:
    """Multipliers or shifts: an attribute in MLIR 19, a constant operand in later versions.

    Raises: NoEquivalent if they are computed.
    """
    if op.attribute(name) is not None:
        return op.integers(name)
    array = constant_array(op.operand(index))
    if array is None or array.dtype.kind not in "iu":
        raise NoEquivalent(f"expected constants as {name}")
    return tuple(array.reshape(-1).tolist())


def rounding(op: Foreign) -> Mode:
    """How an op rounds.

    Raises: NoEquivalent for a way that is not known.
    """
    word = op.word("rounding_mode")
    if word is None:
        word = DOUBLE if op.is_on("double_round") else SINGLE
    if word not in (SINGLE, DOUBLE):
        raise NoEquivalent(f"expected {SINGLE} or {DOUBLE}, got {word}")
    return Mode.DOUBLE_ROUND if word == DOUBLE else Mode.HALF_UP


def scale_of(multiplier: int, shift: int, mode: Mode) -> float:
    """The scale that a multiplier and a shift stand for.

    Raises: NoEquivalent if a layer cannot round as `tosa` does with them.
    """
    scale = ldexp(multiplier, -shift)
    found = Multiplier.of(scale) if 0 < multiplier < 2**31 and 2 <= shift <= 62 else None
    if found is None or found.number != scale:
        raise NoEquivalent(f"no layer scales by {multiplier} * 2^-{shift}")
    if mode == Mode.DOUBLE_ROUND and found != Multiplier(multiplier, shift):
        raise NoEquivalent(f"expected a multiplier from 2^30 on to round twice, got {multiplier}")
    return scale


def quantised(element: Attribute, *, is_unsigned: bool) -> Attribute:
    """The element type of a quantised map; an attribute of the op may say that it is unsigned."""
    if isa(element, IntegerType) and element.signedness.data != Signedness.UNSIGNED:
        if is_unsigned:
            raise NoEquivalent(f"expected the element type {ui8} for unsigned integers")
    return element


def rescale(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.rescale`: sums or maps become quantised maps of another scale."""
    source = builder.unpadded(op.operand(0))
    element = quantised(element_of(source.value), is_unsigned=op.is_on("input_unsigned"))
    result = quantised(op.result_type.get_element_type(), is_unsigned=op.is_on("output_unsigned"))
    numbers_of_layers = (*QUANTISED, i32)
    if element not in numbers_of_layers or result not in numbers_of_layers:
        raise NoEquivalent(f"no layer rescales {element} to {result}")
    if not op.is_on("scale32", default=True):
        raise NoEquivalent("expected scale32 = true: multipliers of 16 bits are none of a layer")
    mode = rounding(op)
    multipliers, shifts = numbers(op, "multiplier", 1), numbers(op, "shift", 2)
    if len(multipliers) != len(shifts) or not shifts:
        raise NoEquivalent("expected a shift for each multiplier")
    scales = [scale_of(*pair, mode) for pair in zip(multipliers, shifts, strict=True)]
    points = zero_point(op, "input_zp", 3), zero_point(op, "output_zp", 4)
    if len(scales) > 1:
        rank = len(source.perm)
        if len(scales) != source.shape[-1] or rank < 2:
            raise NoEquivalent(f"expected 1 or {source.shape[-1]} scales, got {len(scales)}")
        if source.perm[-1] != 1:
            order = (0, rank - 1, *range(1, rank - 1))
            moved = builder.as_is(source.transposed(order))
            source = Stored(moved, tuple(order.index(axis) for axis in range(rank)))
    value = builder.emit(
        lambda out: RequantizeOp(source.value, scales, points, out, mode=mode), result
    )
    return Stored(value, source.perm)


def avg_pool2d(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.avg_pool2d` of floats or of quantised integers."""
    image, slides = op.operand(0), slides_of(op, has_dilation=False)
    kernel = op.integers("kernel", 2)
    if not isinstance(element_of(image), IntegerType):
        return avg_pool(builder, image, kernel, slides)
    window = PoolAttr.of("avg", kernel, slides.strides, slides.pads)
    if element_of(image) not in QUANTISED:
        raise NoEquivalent(f"no layer averages elements of {element_of(image)}")
    points = op.zero_points(2, 1)
    source = builder.as_is(builder.stored(image).transposed(slides.channels_first))
    value = builder.emit(
        lambda out: QuantizedAvgPool2dOp(source, window, (1.0, 1.0), points, out, mode=Mode.HALF_UP)
    )
    return Stored(value, slides.back)


TOSA_RULES = {**TOSA_LAYERS, "tosa.rescale": rescale, "tosa.avg_pool2d": avg_pool2d}
"""The rules by the names of the ops."""
