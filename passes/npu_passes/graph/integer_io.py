"""`npu-integer-io`: give a quantised network integer inputs and outputs (on tensors).

    func.func @f(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
      %q = npu.quantize %x scales [0.5] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
      ...
      %y = npu.dequantize %p scales [0.25] zero_point 0 : tensor<1x4xi8> -> tensor<1x4xf32>
      func.return %y : tensor<1x4xf32>
becomes
    func.func @f(%x: tensor<1x4xi8> {npu.scale = 0.5 : f32, npu.zero_point = 3 : i64})
        -> (tensor<1x4xi8> {npu.scale = 0.25 : f32, npu.zero_point = 0 : i64}) {
      ...
      func.return %p : tensor<1x4xi8>

The decision: float32 inputs and outputs never take on-chip memory. The caller converts them, or has
integers anyway, as from a camera. An input is changed if all its readers quantise it with the same
scale, zero point and type. An output is changed if it is dequantised with one scale. The C header
states the scales and zero points.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import SCALE, ZERO_POINT
from npu_dialect.npu.attributes import float_values
from npu_dialect.npu.layers import DequantizeOp, QuantizeOp
from npu_dialect.npu.maps import map_type
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.support.refuse import RefusingPass

Marks = dict[str, Attribute]


@dataclass(frozen=True)
class IntegerPorts:
    """The inputs and outputs of a function that can become integers.

    `inputs` maps the position of an input to the layers that quantise it, `outputs` the position of
    an output to the layer that dequantises it.
    """

    inputs: dict[int, tuple[QuantizeOp, ...]]
    outputs: dict[int, DequantizeOp]


def integer_ports(function: FuncOp) -> IntegerPorts:
    """The inputs of a function that are quantised first, and the outputs dequantised last."""
    inputs = {
        argument.index: layers
        for argument in function.body.block.args
        if (layers := quantisers(argument))
    }
    last = function.body.block.last_op
    returned = last.operands if isinstance(last, ReturnOp) else ()
    outputs = {
        index: value.owner
        for index, value in enumerate(returned)
        if isinstance(value.owner, DequantizeOp) and is_edge(value.owner)
    }
    return IntegerPorts(inputs, outputs)


def quantisers(argument: BlockArgument) -> tuple[QuantizeOp, ...]:
    """The layers that read an input, if all quantise it in the same way; else an empty tuple."""
    users = [use.operation for use in argument.uses]
    layers = tuple(user for user in users if isinstance(user, QuantizeOp))
    ways = {(layer.scale, layer.offset, layer.results[0].type) for layer in layers if layer.results}
    return layers if layers and len(layers) == len(users) and len(ways) == 1 else ()


def is_edge(layer: DequantizeOp) -> bool:
    """Whether a layer on tensors dequantises 8-bit integers with a single scale."""
    element = map_type(layer.input).get_element_type()
    return layer.destination is None and len(layer.scales) == 1 and element in QUANTISED


def marks(scale: float, zero_point: int) -> Marks:
    """The attributes of an integer input or output: `npu.scale` and `npu.zero_point`."""
    return SCALE.entry(scale) | ZERO_POINT.entry(zero_point)


def with_marks(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int, added: dict[int, Marks]
) -> ArrayAttr[DictionaryAttr]:
    """The attributes of `count` arguments or results, with those of `added` put in."""
    old = attributes.data if attributes else (DictionaryAttr({}),) * count
    return ArrayAttr(
        DictionaryAttr({**each.data, **added.get(index, {})}) for index, each in enumerate(old)
    )


def rewrite(function: FuncOp, ports: IntegerPorts) -> None:
    """Change the type of a function's ports, and erase the layers that convert them."""
    block = function.body.block
    for index, layers in ports.inputs.items():
        first = layers[0]
        argument = Rewriter.replace_value_with_new_type(block.args[index], first.results[0].type)
        for layer in layers:
            layer.results[0].replace_all_uses_with(argument)
            Rewriter.erase_op(layer)
    last = block.last_op
    assert last is not None
    results: list[SSAValue] = list(last.operands)
    for index, layer in ports.outputs.items():
        results[index] = layer.input
    Rewriter.replace_op(last, ReturnOp(*results))
    for layer in dict.fromkeys(ports.outputs.values()):
        if layer.results[0].first_use is None:
            Rewriter.erase_op(layer)
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in results]
    )


def ports_marks(ports: IntegerPorts) -> tuple[dict[int, Marks], dict[int, Marks]]:
    """The attributes of inputs and outputs that become integers."""
    return (
        {index: marks(one[0].scale, one[0].offset) for index, one in ports.inputs.items()},
        {
            index: marks(float_values(one.scales)[0], one.offset)
            for index, one in ports.outputs.items()
        },
    )


@dataclass(frozen=True)
class IntegerIoPass(RefusingPass):
    """Drop the layers that quantise inputs and dequantise outputs; see the module."""

    name = "npu-integer-io"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change every public function on tensors."""
        for function in op.body.ops:
            if not isinstance(function, FuncOp) or function.is_declaration:
                continue
            if function.sym_visibility is not None or len(function.body.blocks) != 1:
                continue
            ports = integer_ports(function)
            if not ports.inputs and not ports.outputs:
                continue
            of_inputs, of_outputs = ports_marks(ports)
            types = function.function_type
            arguments = with_marks(function.arg_attrs, len(types.inputs), of_inputs)
            results = with_marks(function.res_attrs, len(types.outputs), of_outputs)
            rewrite(function, ports)
            function.arg_attrs, function.res_attrs = arguments, results
