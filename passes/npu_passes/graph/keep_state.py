"""`npu-keep-state{states="h=next_h"}`: keep states from one run to the next (on tensors).

    func.func @f(%x: tensor<1x4xf32> {npu.name = "x"}, %h: tensor<1x8xf32> {npu.name = "h"})
        -> (tensor<1x8xf32> {npu.name = "next_h"}, tensor<1x2xf32> {npu.name = "y"}) {
becomes
    func.func @f(%x: tensor<1x4xf32> {npu.name = "x"},
                 %h: tensor<1x8xf32> {npu.name = "h", npu.state = "next_h"})
        -> (tensor<1x2xf32> {npu.name = "y"},
            tensor<1x8xf32> {npu.name = "next_h", npu.state = "next_h"}) {

Each text in `states` is `INPUT=OUTPUT`, or the name of a recurrent layer without initial state.
Such a layer gets an argument for its state and a result with its last one; an LSTM gets two of
both.

The decision: which ports are no ports of the C function. States come last. `npu-bufferize` gives
argument and result one buffer in the arena, in which nothing else lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER, PORT, SCALE, STATE, ZERO_POINT
from npu_dialect.npu import RecurrentOp, ReshapeOp, SliceOp
from npu_dialect.npu.enums import Cell
from npu_dialect.npu.maps import map_type
from npu_passes.support.port_attributes import array_of, attributes_of
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.support.symbols import public_function

STATE_NAMES = ("{}.state", "{}.cell_state")
"""The names of the states of a recurrent layer, after its own."""
NEXT = "{}.next"
"""The name of the result of a state of a recurrent layer, after that of the state."""


@dataclass(frozen=True)
class KeepStatePass(RefusingPass):
    """Tie inputs of the public function to outputs; see the module."""

    name = "npu-keep-state"

    states: tuple[str, ...]
    """`INPUT=OUTPUT`, by their names in the model, or the name of a recurrent layer."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark all states, then put them last.

        Raises: PassFailedException if a name is unknown, ports differ in type or have two states,
        or a layer has an initial state or runs backwards.
        """
        ports = Ports(public_function(op))
        for text in self.states:
            ports.keep(text)
        ports.write()


class Ports:
    """The ports of a function, with their attributes; `write` changes the function."""

    def __init__(self, function: FuncOp) -> None:
        self.function, self.block = function, function.body.block
        last = self.block.last_op
        if not isinstance(last, ReturnOp):
            raise Refusal("expected func.return at the end")
        self.last = last
        types = function.function_type
        self.arguments = attributes_of(function.arg_attrs, len(types.inputs))
        self.results = attributes_of(function.res_attrs, len(types.outputs))
        self.added: list[SSAValue] = []

    @property
    def returned(self) -> list[SSAValue]:
        """The values of all results."""
        return [*self.last.operands, *self.added]

    def keep(self, text: str) -> None:
        """Mark the state that a text names.

        Raises: Refusal if there is none.
        """
        pairs = [(text[:i], text[i + 1 :]) for i, letter in enumerate(text) if letter == "="]
        inputs, outputs = names_of(self.arguments), names_of(self.results)
        for first, second in pairs:
            if first in inputs and second in outputs:
                self.tie(inputs.index(first), outputs.index(second), text)
                return
        layers = [op for op in recurrent(self.block) if LAYER.get(op) == text]
        if not layers:
            known = dict.fromkeys(LAYER.get(op) or "" for op in recurrent(self.block))
            raise Refusal(
                f"no state '{text}': expected INPUT=OUTPUT or a recurrent layer; inputs: "
                f"{listed(inputs)}; outputs: {listed(outputs)}; recurrent layers: {listed(known)}"
            )
        for op in layers:
            self.open(op, text)

    def tie(self, place: int, returned: int, text: str) -> None:
        """Mark an argument and a result as one state.

        Raises: Refusal if they differ in type or scale, or if one is a state already.
        """
        first, second = self.arguments[place], self.results[returned]
        if STATE.is_in(first) or STATE.is_in(second):
            raise Refusal(f"'{text}': expected each input and each output in one state only")
        types = (self.block.args[place].type, self.returned[returned].type)
        steps = [(SCALE.of(each), ZERO_POINT.of(each)) for each in (first, second)]
        if types[0] != types[1] or steps[0] != steps[1]:
            scales = "" if steps[0] == steps[1] else " with other scales"
            raise Refusal(
                f"'{text}': expected an input and an output of one type, got {types[0]} and "
                f"{types[1]}{scales}"
            )
        name = PORT.of(second) or text
        self.arguments[place] = {**first, **STATE.entry(name)}
        self.results[returned] = {**second, **STATE.entry(name)}

    def open(self, op: RecurrentOp, name: str) -> None:
        """Give a recurrent layer its states from arguments, and return its last ones.

        Raises: Refusal if it has an initial state, or runs from the last step to the first.
        """
        if op.state is not None or op.reverse is not None:
            wrong = "runs backwards" if op.state is None else "has an initial state"
            raise Refusal(f"'{name}' {wrong}: expected a layer that starts from zeros, forwards")
        rows = {STATE_NAMES[0]: op.steps - 1}
        if op.kind == Cell.LSTM:
            rows[STATE_NAMES[1]] = op.steps
        new = op.with_states([self.argument(each.format(name), op) for each in rows])
        Rewriter.replace_op(op, new)
        for each, row in rows.items():
            shape = [1, op.batch, op.units]
            kept = TensorType(map_type(new.output).get_element_type(), shape)
            last = SliceOp(new.results[0], [row, 0, 0], shape, [1, 1, 1], kept)
            LAYER.set(last, name)
            self.insert(last, self.last)
            self.added.append(last.results[0])
            port = NEXT.format(each.format(name))
            self.results.append({**PORT.entry(port), **STATE.entry(port)})

    def argument(self, name: str, op: RecurrentOp) -> SSAValue:
        """Add an argument [1, B, H] for a state of a layer; returns it as [B, H]."""
        element, shape = map_type(op.gates).get_element_type(), (op.batch, op.units)
        argument = self.block.insert_arg(TensorType(element, [1, *shape]), len(self.block.args))
        argument.name_hint = "state"
        self.arguments.append({**PORT.entry(name), **STATE.entry(NEXT.format(name))})
        flat = ReshapeOp(argument, TensorType(element, shape))
        LAYER.copy(op, flat)
        self.insert(flat, op)
        return flat.results[0]

    def insert(self, op: Operation, before: Operation) -> None:
        """Insert an op in front of another one."""
        Rewriter.insert_op(op, InsertPoint.before(before))

    def write(self) -> None:
        """Put states last, and give the function its new type and attributes."""
        order = states_last(self.arguments)
        moved = [self.block.args[place] for place in order]
        for argument in moved:
            new = self.block.insert_arg(argument.type, len(self.block.args))
            new.name_hint = argument.name_hint
            argument.replace_all_uses_with(new)
            self.block.erase_arg(argument)
        given = states_last(self.results)
        returned = [self.returned[place] for place in given]
        Rewriter.replace_op(self.last, ReturnOp(*returned))
        types: tuple[list[Attribute], list[Attribute]] = (
            [argument.type for argument in self.block.args],
            [value.type for value in returned],
        )
        self.function.function_type = FunctionType.from_lists(*types)
        self.function.arg_attrs = array_of([self.arguments[place] for place in order])
        self.function.res_attrs = array_of([self.results[place] for place in given])


def states_last(ports: Sequence[Mapping[str, Attribute]]) -> list[int]:
    """The positions of ports, those of states behind all others."""
    return sorted(range(len(ports)), key=lambda place: STATE.is_in(ports[place]))


def names_of(ports: Sequence[Mapping[str, Attribute]]) -> list[str | None]:
    """The names of ports in the model."""
    return [PORT.of(port) for port in ports]


def recurrent(block: Block) -> Iterator[RecurrentOp]:
    """The recurrent layers of a block."""
    return (op for op in block.ops if isinstance(op, RecurrentOp))


def listed(names: Iterable[str | None]) -> str:
    """Names for a message."""
    return ", ".join(name for name in names if name) or "none"
