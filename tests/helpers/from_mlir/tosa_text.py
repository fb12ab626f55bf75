"""Float ONNX models as `tosa` text, in the forms that exporters of other tools write.

torch-mlir keeps maps as [N, C, H, W] and transposes them around each convolution and pool;
TensorFlow's exporter has channels last everywhere. Both forms are those of MLIR 19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper, shape_inference

Array = NDArray[Any]

ELEMENTS = {"f4": "f32", "i1": "i8", "u1": "ui8", "i4": "i32", "i8": "i64"}
"""Element types by numpy's type code."""
TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""Orders of axes that put channels last, and that put them second again."""


@dataclass(frozen=True)
class Value:
    """A value of the text: its name, shape and element type; `last`: it has channels last."""

    name: str
    shape: tuple[int, ...]
    element: str = "f32"
    last: bool = False

    @property
    def type(self) -> str:
        """Its type as text."""
        return f"tensor<{'x'.join(map(str, (*self.shape, self.element)))}>"


def dense(array: Array) -> str:
    """The attribute of a constant, as bytes."""
    type_ = Value("", array.shape, ELEMENTS[array.dtype.str[1:]]).type
    return f'dense<"0x{array.tobytes().hex().upper()}"> : {type_}'


def listed(values: Sequence[int], element: str = "i64") -> str:
    """An attribute with integers."""
    return f"array<{element}: {', '.join(map(str, values))}>"


@dataclass
class TosaText:
    """Writes the text of a function, line by line."""

    channels_last: bool
    """Whether all maps of 4 axes have channels last, also those of the function."""
    lines: list[str] = field(default_factory=list[str])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    count: int = 0

    def fresh(self, hint: str = "") -> str:
        """A new name."""
        self.count += 1
        name = "".join(c if c.isalnum() else "_" for c in hint)
        return f"%{name}_{self.count}" if name else f"%v{self.count}"

    def constant(self, array: Array) -> Value:
        """A constant."""
        value = Value(self.fresh(), array.shape, ELEMENTS[array.dtype.str[1:]])
        text = f'"tosa.const"() <{{value = {dense(np.ascontiguousarray(array))}}}>'
        self.lines.append(f"{value.name} = {text} : () -> {value.type}")
        return value

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        *,
        element: str = "f32",
        last: bool = False,
        hint: str = "",
        **attributes: str,
    ) -> Value:
        """An op with one result."""
        result = Value(self.fresh(hint), tuple(shape), element, last)
        entries = ", ".join(f"{key} = {value}" for key, value in sorted(attributes.items()))
        braces = f" {{{entries}}}" if entries else ""
        names = ", ".join(value.name for value in operands)
        types = ", ".join(value.type for value in operands)
        text = f"tosa.{name} {names}{braces} : ({types}) -> {result.type}"
        self.lines.append(f"{result.name} = {text}")
        return result

    def transposed(self, value: Value, perm: Sequence[int], *, last: bool) -> Value:
        """A value with its axes in another order."""
        order = self.constant(np.array(perm, np.int32))
        shape = [value.shape[axis] for axis in perm]
        return self.op("transpose", [value, order], shape, element=value.element, last=last)

    def as_last(self, value: Value) -> Value:
        """A map with channels last."""
        return value if value.last else self.transposed(value, TO_LAST, last=True)

    def as_first(self, value: Value) -> Value:
        """A value with its channels second."""
        return self.transposed(value, TO_FIRST, last=False) if value.last else value

    def kept(self, value: Value) -> Value:
        """A map in the order that this text keeps between layers."""
        return value if self.channels_last else self.as_first(value)

    # -- operators ---------------------------------------------------------------------------------

    def conv(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """A convolution, depthwise if it has as many groups as channels."""
        image, weight = self.as_last(self.values[node.input[0]]), self.constants[node.input[1]]
        filters, depth, *kernel = weight.shape
        bias = np.zeros(filters, np.float32)
        if len(node.input) > 2:
            bias = self.constants[node.input[2]]
        strides, groups = given.get("strides", [1, 1]), given.get("group", 1)
        pads, shape = windows(image.shape, kernel, strides, given)
        name, turned = "conv2d", weight.transpose(0, 2, 3, 1)
        if groups > 1:
            assert groups == image.shape[3], "expected a depthwise convolution"
            assert depth == 1
            name = "depthwise_conv2d"
            turned = weight.reshape(groups, filters // groups, *kernel).transpose(2, 3, 0, 1)
        operands = [image, self.constant(turned), self.constant(bias)]
        made = self.op(
            name,
            operands,
            (image.shape[0], *shape, filters),
            last=True,
            hint=node.name,
            pad=listed(pads),
            stride=listed(strides),
            dilation=listed(given.get("dilations", [1, 1])),
        )
        return self.kept(made)

    def pool(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """A maximum or an average over windows."""
        image = self.as_last(self.values[node.input[0]])
        if node.op_type == "GlobalAveragePool":
            given = {"kernel_shape": image.shape[1:3]}
        kernel, strides = given["kernel_shape"], given.get("strides", [1, 1])
        if given.get("count_include_pad") and any(given.get("pads", ())):
            image, given = self.padded(image, given["pads"]), {**given, "pads": [0, 0, 0, 0]}
        pads, shape = windows(image.shape, kernel, strides, given)
        kinds = {"kernel": listed(kernel), "pad": listed(pads), "stride": listed(strides)}
        name = "max_pool2d"
        if node.op_type != "MaxPool":
            name, kinds["acc_type"] = "avg_pool2d", "f32"
        made = (image.shape[0], *shape, image.shape[3])
        return self.kept(self.op(name, [image], made, last=True, hint=node.name, **kinds))

    def padded(self, image: Value, pads: Sequence[int]) -> Value:
        """A map with channels last, and zeros around it."""
        top, left, bottom, right = pads
        around = self.constant(np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32))
        batch, rows, columns, channels = image.shape
        shape = (batch, rows + top + bottom, columns + left + right, channels)
        return self.op("pad", [image, around], shape, last=True)

    def clamp(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """ReLU or Clip."""
        value = self.values[node.input[0]]
        high = float(np.finfo(np.float32).max)
        if node.op_type == "Clip":
            high = float(self.constants[node.input[2]])
        return self.op(
            "clamp",
            [value],
            value.shape,
            last=value.last,
            hint=node.name,
            min_fp="0.0 : f32",
            max_fp=f"{high:.9e} : f32",
            min_int="0 : i64",
            max_int="2147483647 : i64",
        )

    def flatten(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """All elements of an image in one row, channel by channel."""
        value = self.as_first(self.values[node.input[0]])
        shape = (value.shape[0], int(np.prod(value.shape[1:])))
        return self.op("reshape", [value], shape, hint=node.name, new_shape=listed(shape))

    def gemm(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """A fully connected layer with transposed weights."""
        value, weight, bias = self.values[node.input[0]], *map(self.constants.get, node.input[1:])
        assert weight is not None
        assert bias is not None
        assert given.get("transB") == 1
        operands = [value, self.constant(weight), self.constant(bias)]
        return self.op(
            "fully_connected", operands, (value.shape[0], weight.shape[0]), hint=node.name
        )

    def add(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """A sum of two maps."""
        lhs, rhs = (self.values[name] for name in node.input)
        return self.op("add", [lhs, rhs], lhs.shape, last=lhs.last, hint=node.name)

    def concat(self, node: NodeProto, given: dict[str, Any]) -> Value:
        """A concatenation of channels."""
        parts = [self.values[name] for name in node.input]
        axis = 3 if parts[0].last else 1
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        text = f"{axis} : i32"
        return self.op("concat", parts, shape, last=parts[0].last, hint=node.name, axis=text)


RULES = {
    "Conv": TosaText.conv,
    "MaxPool": TosaText.pool,
    "AveragePool": TosaText.pool,
    "GlobalAveragePool": TosaText.pool,
    "Relu": TosaText.clamp,
    "Clip": TosaText.clamp,
    "Flatten": TosaText.flatten,
    "Gemm": TosaText.gemm,
    "Add": TosaText.add,
    "Concat": TosaText.concat,
}


def windows(
    image: Sequence[int], kernel: Sequence[int], strides: Sequence[int], given: dict[str, Any]
) -> tuple[list[int], list[int]]:
    """The pads of `tosa` (top, bottom, left, right) and the rows and columns of the result."""
    top, left, bottom, right = given.get("pads", [0, 0, 0, 0])
    dilations = given.get("dilations", [1, 1])
    around = ((top, bottom), (left, right))
    shape: list[int] = []
    for extent, taps, step, pad, spread in zip(image[1:3], kernel, strides, around, dilations):
        shape.append((extent + sum(pad) - spread * (taps - 1) - 1) // step + 1)
    return [top, bottom, left, right], shape


def tosa_text(model: ModelProto, *, channels_last: bool = False) -> str:
    """A float model of convolutions, pools, sums and fully connected layers as `tosa` text."""
    text = TosaText(channels_last)
    graph = shape_inference.infer_shapes(model).graph
    text.constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    (given,) = (each for each in graph.input if each.name not in text.constants)
    shape = tuple(dim.dim_value for dim in given.type.tensor_type.shape.dim)
    if channels_last:
        shape = tuple(shape[axis] for axis in TO_LAST)
    argument = Value("%image", shape, last=channels_last)
    text.values[given.name] = argument
    for node in graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        text.values[node.output[0]] = RULES[node.op_type](text, node, attributes)
    result = text.values[graph.output[0].name]
    body = "\n".join(f"  {line}" for line in text.lines)
    return (
        f"func.func @main({argument.name}: {argument.type}) -> {result.type} {{\n{body}\n"
        f"  return {result.name} : {result.type}\n}}\n"
    )
