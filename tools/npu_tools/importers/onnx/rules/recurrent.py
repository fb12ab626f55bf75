"""The rule for RNN, GRU and LSTM: products of all inputs at once, then a recurrent layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import SSAValue

from npu_dialect.npu import ConcatOp, RecurrentOp
from npu_dialect.npu.enums import Cell, Function
from npu_dialect.npu.layers.recurrent import CELLS
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, PointwiseAttr
from npu_dialect.runs import Run, nothing
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.recurrent_operands import LENGTHS, PEEPHOLES, Operands
from npu_tools.importers.onnx.rules.shape import turned

DIRECTIONS: Mapping[str, tuple[bool, ...]] = {
    "forward": (False,),
    "reverse": (True,),
    "bidirectional": (False, True),
}
"""Whether each direction runs from the last step to the first one."""


class FunctionRule(NamedTuple):
    """A function, and its parameters if a node has none: alpha, then beta; None: required."""

    function: Function
    parameters: tuple[float | None, ...] = ()


FUNCTIONS: Mapping[str, FunctionRule] = {
    "affine": FunctionRule(Function.AFFINE, (1.0, 0.0)),
    "elu": FunctionRule(Function.ELU, (1.0,)),
    "hardsigmoid": FunctionRule(Function.HARD_SIGMOID, (0.2, 0.5)),
    "leakyrelu": FunctionRule(Function.LEAKY_RELU, (0.01,)),
    "scaledtanh": FunctionRule(Function.SCALED_TANH, (None, None)),
    "sigmoid": FunctionRule(Function.SIGMOID),
    "softplus": FunctionRule(Function.SOFTPLUS),
    "softsign": FunctionRule(Function.SOFTSIGN),
    "tanh": FunctionRule(Function.TANH),
    "thresholdedrelu": FunctionRule(Function.THRESHOLDED_RELU, (1.0,)),
}
"""The functions of recurrent nodes but Relu, by their names in small letters."""

DEFAULTS: Mapping[Cell, tuple[str, ...]] = {
    Cell.RNN: ("Tanh",),
    Cell.GRU: ("Sigmoid", "Tanh"),
    Cell.LSTM: ("Sigmoid", "Tanh", "Tanh"),
}
"""The functions of nodes that name none."""


def recurrent(node: Node, graph: Builder) -> list[Value]:
    """In one direction or both, with all functions, clip, peepholes and layouts.

    sequence_lens must be a constant with the same length for all sequences. All states are kept;
    the last ones are views of them.
    """
    source, layout = graph.map(node, 0), node.int("layout", 0)
    word = node.string("direction", "forward")
    if len(shape_of(source)) != 3 or layout not in (0, 1) or word not in DIRECTIONS:
        raise NodeError(
            f"an input of shape {list(shape_of(source))}, layout {layout}, direction '{word}'; "
            f"expected [T, B, I] and 0 or [B, T, I] and 1, and {', '.join(DIRECTIONS)}"
        )
    whole = source if layout == 0 else turned(graph, source, (1, 0, 2))
    steps = length_of(node, graph, shape_of(whole))
    inputs = graph.picked(whole, {0: (Run(0, steps),)})
    backward = DIRECTIONS[word]
    functions = functions_of(node, len(backward))
    results: list[list[SSAValue]] = []
    for number, (each, reverse) in enumerate(zip(functions, backward, strict=True)):
        operands = Operands(node, graph, inputs, number, len(backward))
        direction = Direction.of(node, graph, operands, each, reverse=reverse)
        results.append(direction.results(graph, shape_of(whole)[0]))
    states, *last = zip(*results, strict=True)
    every, ends = together(graph, states, 1), [together(graph, parts, 0) for parts in last]
    if layout == 1:
        every = turned(graph, every, (2, 0, 1, 3))
        ends = [turned(graph, end, (1, 0, 2)) for end in ends]
    return [every, *ends]


def length_of(node: Node, graph: Builder, shape: Sequence[int]) -> int:
    """The number of steps, from sequence_lens if they are given.

    Raises: NodeError if they are computed, or differ from each other.
    """
    steps, batch = shape[:2]
    lengths = graph.optional(node, LENGTHS)
    if lengths is None:
        return steps
    found = set(lengths.array.reshape(-1).tolist())
    if lengths.array.shape != (batch,) or len(found) != 1 or not found <= set(range(1, steps + 1)):
        raise NodeError(
            f"sequence_lens {lengths.array.tolist()}; expected one length from 1 to {steps} for "
            f"all {batch} sequences"
        )
    return found.pop()


def functions_of(node: Node, count: int) -> list[list[PointwiseAttr]]:
    """The functions of each direction.

    Raises: NodeError if there are not enough of them or of their parameters, or one is not known.
    """
    kind = Cell(node.op_type.lower())
    names = node.strings("activations") or [*DEFAULTS[kind] * count]
    each = CELLS[kind].functions
    if len(names) != each * count:
        raise NodeError(f"activations {names}; expected {each * count} of them")
    given = [iter(node.floats(f"activation_{name}") or ()) for name in ("alpha", "beta")]
    found = [function_of(name, given) for name in names]
    return [found[first : first + each] for first in range(0, len(found), each)]


def function_of(name: str, given: Sequence[Iterator[float]]) -> PointwiseAttr:
    """The function of this name, with the next parameters of the node, or its defaults.

    Raises: NodeError if it is not known, or has no parameters.
    """
    if name.lower() == "relu":
        return ActivationAttr.relu()
    rule = FUNCTIONS.get(name.lower())
    if rule is None:
        raise NodeError(f"activation '{name}'; expected Relu or one of {', '.join(FUNCTIONS)}")
    numbers = [next(each, default) for each, default in zip(given, rule.parameters, strict=False)]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        raise NodeError(f"activation '{name}' needs activation_alpha and activation_beta")
    return FunctionAttr.of(rule.function, known)


@dataclass(frozen=True)
class Direction:
    """One direction of a node: its layer, and the row of its last state."""

    layer: SSAValue
    kind: Cell
    steps: int
    last: int

    @staticmethod
    def of(
        node: Node,
        graph: Builder,
        operands: Operands,
        functions: Sequence[PointwiseAttr],
        *,
        reverse: bool,
    ) -> Direction:
        """Build the layer of a direction."""
        kind = operands.kind
        scaled = kind == Cell.GRU and node.int("linear_before_reset", 0) != 0
        bias, vector = operands.biases(scaled=scaled)
        if kind == Cell.LSTM:
            vector = operands.part(PEEPHOLES, (3 * operands.units,))
        gates, weight = operands.gates(bias), operands.map(operands.recurrence)
        states, extra = operands.states(), None if vector is None else operands.map(vector)
        clip = node.float("clip", 0.0)
        layer = graph.emit(
            lambda out: RecurrentOp(
                gates,
                weight,
                out,
                cell=kind,
                functions=functions,
                states=states,
                vector=extra,
                clip=clip if "clip" in node.attributes else None,
                reverse=reverse,
                linear_before_reset=scaled,
                input_forget=kind == Cell.LSTM and node.int("input_forget", 0) != 0,
            )
        )
        steps = shape_of(gates)[0]
        return Direction(layer, kind, steps, 0 if reverse else steps - 1)

    def results(self, graph: Builder, steps: int) -> list[SSAValue]:
        """All states [steps, 1, B, H], the last one, and the last cell state of an LSTM [1, B, H].

        States behind the last step of a shorter sequence are zeros.
        """
        rows, *state = shape_of(self.layer)
        whole = graph.reshape(self.layer, (rows, 1, *state))
        beyond = [nothing(steps - self.steps)] * (self.steps < steps)
        every = graph.picked(whole, {0: (Run(0, self.steps), *beyond)}, 0.0)
        rows = [self.last, self.steps] if self.kind == Cell.LSTM else [self.last]
        return [every, *(graph.picked(self.layer, {0: (Run(row),)}) for row in rows)]


def together(graph: Builder, parts: Sequence[SSAValue], axis: int) -> SSAValue:
    """The results of all directions, one behind the other along an axis."""
    if len(parts) == 1:
        return parts[0]
    return graph.emit(lambda out: ConcatOp(parts, axis, out))
