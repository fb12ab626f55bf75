"""Functions of one random quantised layer, on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    f32,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from helpers.quantized.build import NICE, Array
from npu_dialect.npu import (
    ActivationAttr,
    ClampOp,
    ConcatOp,
    Conv2dOp,
    DequantizeOp,
    FullyConnectedOp,
    GlobalMaxPool2dOp,
    LookupOp,
    MaxPool2dOp,
    PoolAttr,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    QuantizeOp,
    ReluOp,
    RequantizeAttr,
    RequantizeOp,
    TransposeOp,
)
from npu_dialect.npu.enums import ModeAttr, Overlap
from npu_dialect.npu.epilogue import Epilogue, EpilogueAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.quantized_binary import MODES_OF
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import PointwiseAttr, TableAttr, kind_of
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of, ui8

LINEAR = ("conv", "dense")
MIXING = ("add", "pair", "average", "pool")
SIMPLE = ("requantize", "quantize", "dequantize", "relu", "clamp", "lookup", "concat", "transpose")
KINDS = (*LINEAR, *MIXING, *SIMPLE)
MODES = ("float", "fixed")
NUMPY: dict[Attribute, str] = {
    f32: "float32",
    i8: "int8",
    ui8: "uint8",
    i16: "int16",
    i32: "int32",
    i64: "int64",
}


class LayerMaker:
    """Makes one layer, and the function around it."""

    def __init__(self, seed: int, elements: Sequence[IntegerType] = (i8, ui8)) -> None:
        """`elements` are those of maps."""
        self.elements = elements
        self.random = Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.block = Block()

    def module(self, kind: str) -> ModuleOp:
        """The module of a function with a layer of this kind, or two."""
        return self.finished(getattr(self, f"make_{kind}")())

    def finished(self, result: SSAValue) -> ModuleOp:
        """The module of a function with this result."""
        self.block.add_op(ReturnOp(result))
        function = FuncOp("f", (self.block.arg_types, [result.type]), Region(self.block))
        return ModuleOp([function])

    def argument(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        """An input."""
        return self.block.insert_arg(TensorType(element, shape), len(self.block.args))

    def constant(self, array: Array, element: Attribute) -> SSAValue:
        """A constant."""
        kind: Any = TensorType(element, array.shape)
        data = BytesAttr(array.astype(NUMPY[element]).tobytes())
        op = ConstantOp(DenseIntOrFPElementsAttr(kind, data), kind)
        self.block.add_op(op)
        return op.result

    def add(self, layer: LayerOp, element: Attribute) -> SSAValue:
        """Add a layer with the shape that its shape rule gives; returns its result."""
        self.block.add_op(layer)
        kind = TensorType(element, layer.infer_shape())
        return Rewriter.replace_value_with_new_type(layer.results[0], kind)

    def integer(self) -> IntegerType:
        """The element type of a quantised map."""
        return self.random.choice(self.elements)

    def point(self, element: Attribute) -> int:
        """A zero point; mostly 0 for 16 bits, for which some kernels need it."""
        low, high = limits_of(element)
        if element == i16 and self.random.random() < 0.6:
            return 0
        return self.random.choice((low, high, self.random.randint(low, high)))

    def scale(self) -> float:
        """A random scale; some scales give ties."""
        scale = self.random.choice((*NICE, self.random.uniform(0.01, 1.0)))
        return float(np.float32(scale))

    def scales(self, channels: int, factor: float = 1.0) -> list[float]:
        """One scale, or one for each channel."""
        count = self.random.choice((1, channels))
        return [float(np.float32(self.scale() * factor)) for _ in range(count)]

    def extent(self) -> int:
        """An extent of a map."""
        return self.random.randint(1, 7)

    def map(self, element: Attribute) -> SSAValue:
        """An input [1, C, H, W]."""
        shape = (1, self.random.randint(1, 5), self.extent(), self.extent())
        return self.argument(element, shape)

    def window(self, size: Sequence[int], most: int = 3) -> dict[str, Any]:
        """A window that contains an element of the map at every position."""
        kernel = [self.random.randint(1, min(most, extent)) for extent in size]
        pads = [self.random.randint(0, reach - 1) for reach in (*kernel, *kernel)]
        strides = [self.random.randint(1, 2) for _ in size]
        return {"kernel": kernel, "strides": strides, "pads": pads}

    def sums(self, element: Attribute) -> IntegerType:
        """The element type of a bias, for a layer that reads a map of these elements."""
        return self.random.choice((i32, i64)) if element == i16 else i32

    def make_conv(self) -> SSAValue:
        """A convolution, plain or fused."""
        random, element = self.random, self.integer()
        groups = random.choice((1, 1, 2, 3))
        depth, filters = random.randint(1, 3), random.randint(1, 3) * groups
        size = (self.extent(), self.extent())
        x = self.argument(element, (1, depth * groups, *size))
        window = self.window(size)
        kernel = window.pop("kernel")
        weight = self.constant(self.numbers.integers(-128, 128, (filters, depth, *kernel)), i8)
        bias = None
        if random.random() < 0.7:
            bias = self.constant(self.numbers.integers(-999, 999, filters), self.sums(element))
        points = (self.point(element), random.choice((0, 0, random.randint(-128, 127))))
        plain = Conv2dOp(
            x, weight, bias, TensorType(i32, []), **window, groups=groups, zero_points=points
        )
        if random.random() < 0.2:
            return self.add(plain, plain.sums_element)
        out, extents = self.integer(), plain.infer_shape()[2:]
        pool = overlap = None
        if random.random() < 0.6:
            found = self.window(extents)
            pool = PoolAttr.of("max", found["kernel"], found["strides"], found["pads"])
            overlap = random.choice(tuple(Overlap)) if pool.overlaps else None
        requantize = RequantizeAttr.of(
            self.scales(filters, 0.01), self.point(out), random.choice(MODES)
        )
        activation = self.activation(out, pooled=pool is not None)
        plain.epilogue = EpilogueAttr(Epilogue(requantize, activation, pool, overlap))
        return self.add(plain, out)

    def activation(self, element: IntegerType, *, pooled: bool = False) -> PointwiseAttr | None:
        """An activation of integers, or none; a monotone one if it is `pooled`."""
        low, high = sorted((self.point(element), self.point(element)))
        table = self.table(element) if element in BYTE_TYPES else None
        found = (None, ActivationAttr.relu(), ActivationAttr.clamp(low, high), table)
        chosen = self.random.choice(found)
        return None if chosen is not None and pooled and not chosen.is_monotone else chosen

    def table(self, element: IntegerType) -> TableAttr:
        """A table of random bytes, sometimes sorted."""
        entries = self.numbers.integers(*limits_of(element), 256)
        some = np.sort(entries) if self.random.random() < 0.5 else entries
        return TableAttr.of(element, some.astype(kind_of(element)))

    def make_lookup(self) -> SSAValue:
        """A table look-up."""
        element = self.random.choice((i8, ui8))
        x = self.map(element)
        return self.add(LookupOp(x, self.table(element), TensorType(element, [])), element)

    def make_dense(self) -> SSAValue:
        """A fully connected layer."""
        element, out, random = self.integer(), self.integer(), self.random
        batch, depth, features = random.randint(1, 3), random.randint(1, 40), random.randint(1, 6)
        x = self.argument(element, (batch, depth))
        weight = self.constant(self.numbers.integers(-128, 128, (features, depth)), i8)
        bias = self.constant(self.numbers.integers(-999, 999, features), self.sums(element))
        points = (self.point(element), random.choice((0, 5)))
        what = RequantizeAttr.of(self.scales(features, 0.01), self.point(out), random.choice(MODES))
        layer = FullyConnectedOp(
            x,
            weight,
            bias,
            TensorType(i32, []),
            zero_points=points,
            epilogue=Epilogue(what, self.activation(out)),
        )
        return self.add(layer, out)

    def make_requantize(self) -> SSAValue:
        """A requantisation."""
        element, out = self.random.choice((*self.elements, i32)), self.integer()
        x = self.map(element)
        wide = element == i32
        points = (0 if wide else self.point(element), self.point(out))
        scales = self.scales(list(shape_of(x))[1], 1e-7 if wide else 1.0)
        divisor = self.random.choice((None, self.scale()))
        mode = self.random.choice(MODES)
        layer = RequantizeOp(x, scales, points, TensorType(out, []), divisor=divisor, mode=mode)
        return self.add(layer, out)

    def make_quantize(self) -> SSAValue:
        """A quantisation from float32."""
        out = self.integer()
        x = self.map(f32)
        return self.add(QuantizeOp(x, self.scale(), self.point(out), TensorType(out, [])), out)

    def make_dequantize(self) -> SSAValue:
        """A dequantisation to float32."""
        element = self.random.choice((*self.elements, i32))
        x = self.map(element)
        point = 0 if element == i32 else self.point(element)
        scales = self.scales(list(shape_of(x))[1])
        return self.add(DequantizeOp(x, scales, point, TensorType(f32, [])), f32)

    def make_add(self) -> SSAValue:
        """An addition, which may broadcast."""
        lhs, rhs, out = self.integer(), self.integer(), self.integer()
        a = self.map(lhs)
        shape = list(shape_of(a))
        b = self.argument(rhs, self.random.choice((shape, [shape[1], 1, 1])))
        scales = [self.scale() for _ in range(3)]
        points = [self.point(lhs), self.point(rhs), self.point(out)]
        mode = self.random.choice((*MODES, "qlinear"))
        return self.add(QuantizedAddOp(a, b, scales, points, TensorType(out, []), mode=mode), out)

    def make_pair(self) -> SSAValue:
        """A product, quotient, ... of two maps, which may broadcast."""
        lhs, rhs, out = self.integer(), self.integer(), self.integer()
        a = self.map(lhs)
        shape = list(shape_of(a))
        b = self.argument(rhs, self.random.choice((shape, [shape[1], 1, 1], [])))
        scales = [self.scale() for _ in range(3)]
        points = [self.point(lhs), self.point(rhs), self.point(out)]
        kind = self.random.choice(tuple(MODES_OF))
        layer = QuantizedBinaryOp(a, b, kind, scales, points, TensorType(out, []))
        layer.mode = ModeAttr(self.random.choice(layer.modes))
        return self.add(layer, out)

    def make_average(self) -> SSAValue:
        """An average pool, whose window may be the whole map."""
        element, out = self.integer(), self.integer()
        x = self.map(element)
        size = list(shape_of(x))[2:]
        window = self.window(size)
        pool = PoolAttr.of(
            "avg",
            window["kernel"],
            window["strides"],
            window["pads"],
            count_include_pad=self.random.random() < 0.5,
        )
        if self.random.random() < 0.4:
            pool = PoolAttr.of("avg", size, (1, 1))
        scales, points = [self.scale(), self.scale()], [self.point(element), self.point(out)]
        mode = self.random.choice((*MODES, "qlinear"))
        layer = QuantizedAvgPool2dOp(x, pool, scales, points, TensorType(out, []), mode=mode)
        return self.add(layer, out)

    def make_pool(self) -> SSAValue:
        """A max pool."""
        element = self.random.choice((*self.elements, i32))
        x = self.map(element)
        if self.random.random() < 0.3:
            return self.add(GlobalMaxPool2dOp(x, TensorType(element, [])), element)
        window = self.window(list(shape_of(x))[2:])
        pool = PoolAttr.of("max", window["kernel"], window["strides"], window["pads"])
        return self.add(MaxPool2dOp(x, pool, TensorType(element, [])), element)

    def make_relu(self) -> SSAValue:
        """max(x, 0)."""
        element = self.random.choice((*self.elements, i32))
        return self.add(ReluOp(self.map(element), TensorType(element, [])), element)

    def make_clamp(self) -> SSAValue:
        """A clamp, with bounds between integers too."""
        element = self.random.choice((*self.elements, i32))
        low, high = sorted(self.random.uniform(-50, 300) for _ in range(2))
        x = self.map(element)
        return self.add(ClampOp(x, low, max(high, low + 1), TensorType(element, [])), element)

    def make_concat(self) -> SSAValue:
        """A concatenation of two maps."""
        element = self.integer()
        a = self.map(element)
        b = self.argument(element, list(shape_of(a)))
        return self.add(ConcatOp([a, b], 1, TensorType(element, [])), element)

    def make_transpose(self) -> SSAValue:
        """A transposition that puts the channels last."""
        element = self.integer()
        return self.add(
            TransposeOp(self.map(element), (0, 2, 3, 1), TensorType(element, [])), element
        )
