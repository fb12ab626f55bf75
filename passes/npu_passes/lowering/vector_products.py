"""Lower products of quantised maps to loops over vectors of eight bytes.

    scf.for %c = %c0 to %c64 step %c8 {
      %g = mve.load %gate[%c] : memref<64xi8, #npu.sram> -> vector<8xi16>
      scf.for %x = %c0 to %c36 step %c1 {              // all pixels of eight channels
        %v = mve.load %map[%at] : memref<2304xi8, #npu.sram> -> vector<8xi16>
        %even = mve.mul_long %v, %g bottom : vector<8xi16> -> vector<4xi32>
        %odd = mve.mul_long %v, %g top : vector<8xi16> -> vector<4xi32>
        ...                                            // less zero points, times a factor, rounded
        mve.store %q, %ofm[%to] saturated : vector<8xi16>, memref<2304xi8, #npu.sram>
      }
    }

Level of IR: one layer on buffers: a map with channels last and a number for each channel, such as
the gates of squeeze-and-excite blocks, or two maps that lie alike. The bits are those of the
layer's mode (`npu_plans/kernels/byte_products.py`). If no factor gives them, the lanes do all
steps of mode float, and divide by products (`kernels/quotients.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu import QuantizedBinaryOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.enums import Mode
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import limits_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.byte_stores import ByteStores, Ends
from npu_passes.lowering.kernels.quotients import Divisor, divided
from npu_passes.lowering.vector_bytes import EIGHT, Runs
from npu_passes.lowering.vector_pooling import Pixels
from npu_passes.support.common import for_each
from npu_passes.support.integers import bounds_of, element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.byte_products import FARTHEST_PRODUCT, in_range, product_factor
from npu_plans.kernels.byte_sums import Summand


@dataclass(frozen=True)
class Product:
    """The product of two maps, which have scales and zero points; `divisor` is the output's scale.

    `factor`: of the products of differences. If it is None, all steps of mode float are done.
    """

    maps: tuple[SSAValue, SSAValue]
    scales: tuple[float, float]
    points: tuple[int, int]
    divisor: float
    factor: float | None

    @staticmethod
    def of(op: QuantizedBinaryOp, out: SSAValue) -> Product | None:
        """The product of a layer on bytes; None if vectors do not give its bytes."""
        (sa, sb, divisor), (za, zb, point) = float_values(op.scales), int_values(op.zero_points)
        limits = [limits_of(element_of(map)) for map in (op.lhs, op.rhs)]
        operands = Summand(sa, za, *limits[0]), Summand(sb, zb, *limits[1])
        mode, bounds = op.mode.data, bounds_of(element_of(out), None)
        factor = product_factor(operands, divisor, point, bounds, mode)
        if factor is None and not (mode == Mode.FLOAT and in_range(operands, divisor)):
            return None
        return Product((op.lhs, op.rhs), (sa, sb), (za, zb), divisor, factor)

    @property
    def turned(self) -> Product:
        """The same with the other operand first."""
        (lhs, rhs), (sa, sb), (za, zb) = self.maps, self.scales, self.points
        return replace(self, maps=(rhs, lhs), scales=(sb, sa), points=(zb, za))

    @property
    def largest(self) -> float:
        """A bound of the numbers that are rounded."""
        lhs, rhs = self.scales
        return FARTHEST_PRODUCT * abs(lhs * rhs / self.divisor) * (1 + 2**-20)

    def is_gated(self, out: SSAValue) -> bool:
        """Whether channels are last, and the second operand has a number for each of them."""
        shape, map, gate = shape_of(out), *self.maps
        if len(shape) != 4 or shape_of(map) != shape or shape_of(gate) != (*shape[:2], 1, 1):
            return False
        last = all(pixel_steps(memref_type(each)) is not None for each in (map, gate, out))
        return last and shape[2:] != (1, 1)


def product_of_bytes(b: LoopBuilder, op: QuantizedBinaryOp, out: SSAValue) -> bool:
    """Build the loops of a product of bytes; False if its operands lie or are scaled otherwise."""
    product = Product.of(op, out)
    if product is None:
        return False
    for each in (product, product.turned):
        if each.is_gated(out):
            GatedMap(Products(b, op, out, each)).build()
            return True
    runs = Runs.of(b, (*product.maps, out))
    if runs is None:
        return False
    RunProducts(Products(b, op, out, product), runs).build()
    return True


class Products:
    """Builds products of vectors of eight bytes."""

    def __init__(
        self, b: LoopBuilder, op: QuantizedBinaryOp, out: SSAValue, product: Product
    ) -> None:
        self.b, self.out, self.product = b, out, product
        point, bounds = int_values(op.zero_points)[2], bounds_of(element_of(out), None)
        self.stores = ByteStores(b, op, out, Ends(point, bounds, product.largest), self.splat)

    def splat(self, number: int, type_: mve.Vector) -> SSAValue:
        """A vector of a known integer, computed in front of all loops."""
        return self.b.hoist(mve.SplatOp(self.b.integer(number), type_), "vector")

    def differences(
        self, operand: int, memory: SSAValue, at: Index, lanes: int | None, hint: str
    ) -> SSAValue:
        """Up to eight bytes of an operand less its zero point."""
        b, point = self.b, self.product.points[operand]
        halves = b.insert(mve.LoadOp(memory, b.value(at), mve.I16X8, lanes), hint).result
        if point:
            halves = b.insert(mve.AddScalarOp(halves, b.integer(-point)), hint).result
        return halves

    def store(
        self, lhs: SSAValue, rhs: SSAValue, memory: SSAValue, at: Index, lanes: int | None
    ) -> None:
        """Multiply differences, and store their products as bytes."""
        b = self.b
        halves = self.stores.halves(*(self.side(lhs, rhs, top=top) for top in (False, True)))
        b.insert(mve.StoreOp(halves, memory, b.value(at), lanes, saturated=True))

    def side(self, lhs: SSAValue, rhs: SSAValue, *, top: bool) -> SSAValue:
        """The products of every second difference, for the output's scale, not rounded yet."""
        b, factor = self.b, self.product.factor
        if factor is None:
            return self.by_steps(lhs, rhs, top=top)
        words = b.insert(mve.MulLongOp(lhs, rhs, top=top), "p").result
        number = b.insert(mve.ToFloatOp(words)).result
        return b.insert(mve.MulScalarOp(number, b.real(factor)), "y").result

    def by_steps(self, lhs: SSAValue, rhs: SSAValue, *, top: bool) -> SSAValue:
        """The same with all roundings of mode float."""
        b, reals = self.b, list[SSAValue]()
        for halves, scale in zip((lhs, rhs), self.product.scales, strict=True):
            words = b.insert(mve.WidenOp(halves, top=top)).result
            number = b.insert(mve.ToFloatOp(words)).result
            reals.append(b.insert(mve.MulScalarOp(number, b.real(scale)), "real").result)
        return divided(
            b, b.insert(mve.MulOp(*reals), "p").result, Divisor.of(b, self.product.divisor)
        )


class GatedMap:
    """Builds the loops of a map and a number for each channel."""

    def __init__(self, products: Products) -> None:
        self.products = products
        b, (map, gate), out = products.b, products.product.maps, products.out
        self.b, self.map, self.gate = b, Pixels(b, map), Pixels(b, gate)
        self.out = self.map if out is map else Pixels(b, out)
        self.images, self.channels, height, width = shape_of(out)
        even = all(each.line == each.pixel * width for each in (self.map, self.out))
        self.pixels = (1, height * width) if even else (height, width)

    def build(self) -> None:
        """Visit all images, eight channels at a time."""
        whole, rest = divmod(self.channels, EIGHT)

        def image(at: tuple[Index, ...]) -> None:
            (number,) = at

            def eight(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.some(number, channel, None)
                return ()

            self.b.loop(0, EIGHT * whole, eight, step=EIGHT, hint="c")
            if rest:
                self.some(number, EIGHT * whole, rest)

        for_each(self.b, (self.images,), image, ("n",))

    def some(self, image: Index, channel: Index, lanes: int | None) -> None:
        """Compute all pixels of up to eight channels."""
        b, products = self.b, self.products
        start = b.add(self.gate.place(image, 0, 0), channel)
        gate = products.differences(1, self.gate.buffer, start, lanes, "gate")

        def pixel(at: tuple[Index, ...]) -> None:
            source, target = (
                b.add(each.place(image, *at), channel) for each in (self.map, self.out)
            )
            value = products.differences(0, self.map.buffer, source, lanes, "x")
            products.store(value, gate, self.out.buffer, target, lanes)

        for_each(b, self.pixels, pixel, ("y", "x"))


class RunProducts:
    """Builds the loops of two maps that lie alike."""

    def __init__(self, products: Products, runs: Runs) -> None:
        self.b, self.products, self.runs = products.b, products, runs

    def build(self) -> None:
        """Visit all runs."""
        whole, rest = divmod(self.runs.length, EIGHT)

        def run(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            starts = [self.b.mul(number, pitch) for pitch in self.runs.pitches]

            def eight(at: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.some(starts, at, None)
                return ()

            self.b.loop(0, EIGHT * whole, eight, step=EIGHT, hint="i")
            if rest:
                self.some(starts, EIGHT * whole, rest)
            return ()

        self.b.loop(0, self.runs.count, run, hint="pixel")

    def some(self, starts: Sequence[Index], at: Index, lanes: int | None) -> None:
        """Load, multiply and store up to eight elements."""
        b, products, buffers = self.b, self.products, self.runs.buffers
        *sources, target = (b.add(start, at) for start in starts)
        lhs, rhs = (
            products.differences(number, buffers[number], source, lanes, "x")
            for number, source in enumerate(sources)
        )
        products.store(lhs, rhs, buffers[-1], target, lanes)
