"""States between runs, for the comparison with onnxruntime, which keeps none.

The states of a model are inputs and outputs that the comparison ties together. Those of a recurrent
node are none yet: the model gets them here, with the names that `npu-keep-state` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from npu_passes.graph.keep_state import STATE_NAMES
from npu_tools.importers.onnx.graph import node_label
from npu_tools.reports.report import StateReport
from npu_tools.verifying.samples import input_kinds
from npu_tools.verifying.sessions import run, session_of

INITIAL = 5
"""The number of a recurrent node's operand for its first state."""


def with_states(model: ModelProto, states: Sequence[StateReport]) -> ModelProto:
    """The model with the states of recurrent nodes as inputs and outputs; a copy if it changes."""
    if not states:
        return model
    wanted = {state.name: state for state in states}
    copy = ModelProto()
    copy.CopyFrom(model)
    for node in list(copy.graph.node):
        for number, each in enumerate(STATE_NAMES):
            state = wanted.get(each.format(node_label(node)))
            if node.op_type in ("GRU", "LSTM", "RNN") and state is not None:
                open_state(copy, node, number, state)
    return copy


def open_state(model: ModelProto, node: NodeProto, number: int, state: StateReport) -> None:
    """Make a state of a recurrent node an input and an output of the model."""
    place = INITIAL + number
    node.input.extend([""] * (place + 1 - len(node.input)))
    node.input[place] = state.name
    node.output.extend([""] * (number + 2 - len(node.output)))
    node.output[number + 1] = node.output[number + 1] or f"{state.next}.last"
    for ports, name in ((model.graph.input, state.name), (model.graph.output, state.next)):
        ports.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, state.shape))
    model.graph.node.append(helper.make_node("Identity", [node.output[number + 1]], [state.next]))


def run_after_run(
    model: ModelProto, inputs: Sequence[Mapping[str, Any]], states: Sequence[StateReport]
) -> list[dict[str, Any]]:
    """The inputs of each run with its states: zeros at first, then what the run before has given.

    Raises: UserError if onnxruntime rejects the model.
    """
    if not states:
        return [dict(feeds) for feeds in inputs]
    session, kinds = session_of(model), input_kinds(model)
    current: dict[str, Any] = {}
    for state in states:
        kind = kinds.get(state.name, np.dtype(np.float32))
        current[state.name] = np.full(state.shape, 0 if kind.kind == "f" else state.zero, kind)
    found: list[dict[str, Any]] = []
    for feeds in inputs:
        found.append({**feeds, **current})
        values = run(session, [state.next for state in states], found[-1])
        current = dict(zip(current, values, strict=True))
    return found
