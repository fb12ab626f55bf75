"""Functions of the elements of one quantised map: a table of 256 numbers, without layers yet.

    DequantizeLinear -> Sigmoid -> QuantizeLinear

gives one real number for each byte, and QuantizeLinear turns these into a table of bytes. Each step
is the float32 operation of its node, so the table holds exactly the integers of the float nodes. A
map of which two functions are multiplied or added is a function too:

    DequantizeLinear -> (Sigmoid -> QuantizeLinear -> DequantizeLinear), Mul -> QuantizeLinear

becomes one table of the map in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.interpreters.pointwise import activate
from npu_dialect.interpreters.quantized import requantize, rounded
from npu_dialect.npu import LookupOp, RequantizeOp
from npu_dialect.npu.layers import ActivationOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.pointwise import TableAttr, kind_of
from npu_dialect.npu.quantization import BYTE_TYPES, limits_of
from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.quantized import (
    Params,
    Quantized,
    Scaled,
    meaning,
    quantized_floats,
)
from npu_tools.importers.onnx.surrounded import settled
from npu_tools.importers.onnx.tensors import Array

Rule = Callable[[Node, Builder], Value]
IntegerRule = Callable[[Node, Builder], Value | None]
Step = Callable[[Array], Array]
"""What a layer does to an array of bytes."""


@dataclass(frozen=True, eq=False)
class Tabled(Quantized):
    """A real map that is a function of the bytes of `source` (i8 or ui8), element by element.

    `reals` holds float32 numbers, that of the least byte first. `node` and `rule` build the map in
    float32.
    """

    source: SSAValue
    reals: Array
    node: Node
    rule: Rule

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        return shape_of(self.source)

    @property
    def numbers(self) -> Array:
        """The real number for each byte, after the clamp that is pending."""
        return np.clip(self.reals, np.float32(self.low), np.float32(self.high))

    def floats(self, graph: Builder) -> SSAValue:
        """Build the node in float32."""
        return graph.as_map(self.rule(self.node, graph), self.label)

    def quantize(self, graph: Builder, params: Params) -> SSAValue:
        """Build the table, which takes in the clamp that is pending; floats for 16 bits."""
        if params.element not in BYTE_TYPES:
            return meaning(quantized_floats(graph, self.as_float(graph), params), params)
        before = len(graph.emitted)
        value = self.integers(graph, params)
        self.name_layers(graph, before)
        return value

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build one layer with a table of bytes, for bytes of the type of `params`."""
        return looked_up(graph, self.source, self.numbers, params)


def looked_up(graph: Builder, source: SSAValue, reals: Array, params: Params) -> SSAValue:
    """Build a table of the 256 numbers `reals`, quantised, for the bytes of `source`."""
    with np.errstate(all="ignore"):
        steps = reals / params.scale
    found = rounded(steps, params.zero_point, limits_of(params.element))
    entries = found.astype(kind_of(params.element))
    same = same_elements(graph, source, params)
    table = TableAttr.of(params.element, entries)
    return meaning(graph.emit(lambda out: LookupOp(same, table, out)), params)


def same_elements(graph: Builder, source: SSAValue, params: Params) -> SSAValue:
    """The bytes of a map as elements of the type of `params`, the least as the least."""
    element = map_type(source).get_element_type()
    if element == params.element:
        return source
    points = (limits_of(element)[0], limits_of(params.element)[0])
    return graph.emit(lambda out: RequantizeOp(source, [1.0], points, out), params.element)


def sources_of(value: Value) -> Iterator[tuple[SSAValue, Array]]:
    """The maps of bytes that a quantised map is a function of, each with its 256 real numbers.

    First comes the map itself, then that in front of the layer that computes it from single bytes,
    and so on. There is none if the map is no function of single bytes.
    """
    if isinstance(value, Tabled):
        yield value.source, value.numbers
    if not isinstance(value, Scaled) or value.shape != shape_of(value.value):
        return
    if value.element not in BYTE_TYPES:
        return
    source, steps = value.value, list[Step]()
    while True:
        entries = reduce(lambda found, step: step(found), steps, bytes_of(source))
        with np.errstate(all="ignore"):
            reals = (entries.astype(np.int64) - value.zero_point).astype(np.float32) * value.scale
        yield source, np.clip(reals, np.float32(value.low), np.float32(value.high))
        layer = source.owner
        if not isinstance(layer, ActivationOp | RequantizeOp) or not is_of_bytes(layer):
            return
        steps.insert(0, step_of(layer))
        source = layer.input


def is_of_bytes(layer: ActivationOp | RequantizeOp) -> bool:
    """Whether a layer computes each element from one byte, whatever its place."""
    one_scale = not isinstance(layer, RequantizeOp) or len(layer.scales) == 1
    return one_scale and map_type(layer.input).get_element_type() in BYTE_TYPES


def step_of(layer: ActivationOp | RequantizeOp) -> Step:
    """What a layer does to an array of bytes."""
    if isinstance(layer, RequantizeOp):
        return lambda array: requantize(layer, [array])
    return partial(activate, activation=layer.as_activation())


def bytes_of(source: SSAValue) -> Array:
    """All bytes of the elements of a map, the least first."""
    element = map_type(source).get_element_type()
    low, high = limits_of(element)
    return np.arange(low, high + 1).astype(kind_of(element))


def tabled(rule: Rule, compute: Callable[[Node, Sequence[Array]], Array]) -> IntegerRule:
    """A rule on quantised maps for a node that computes each element by itself.

    It gives None unless all operands are functions of one map, or single constants. `compute`
    takes their real numbers, float32; `rule` builds the node in float32.
    """

    def on_integers(node: Node, graph: Builder) -> Value | None:
        values = [settled(graph, graph.value(node, i)) for i in range(len(node.inputs))]
        source = common_source(values)
        if source is None:
            return None
        operands = [reals_of(value, source) for value in values]
        with np.errstate(all="ignore"):
            reals = np.asarray(compute(node, operands), np.float32)
        return Tabled(source, reals, node, rule, label=node.label)

    return on_integers


def common_source(values: Sequence[Value]) -> SSAValue | None:
    """The last map of bytes that all values are functions of; None if there is none.

    Constants of one number are functions of any map.
    """
    maps = [value for value in values if not isinstance(value, Constant)]
    sources = [[source for source, _ in sources_of(value)] for value in maps]
    first = sources[0] if sources else []
    common = [source for source in first if all(source in others for others in sources)]
    if not common:
        return None
    rank = len(shape_of(common[0]))
    numbers = (value.array for value in values if isinstance(value, Constant))
    fits = all(
        array.size == 1 and array.ndim <= rank and array.dtype == np.float32 for array in numbers
    )
    return common[0] if fits else None


def reals_of(value: Value, source: SSAValue) -> Array:
    """The real numbers of a value for each byte of a map, or the number of a constant."""
    if isinstance(value, Constant):
        return value.array.reshape(())
    return next(reals for each, reals in sources_of(value) if each is source)
