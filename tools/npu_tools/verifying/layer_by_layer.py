"""Judges each layer of a quantised network on the inputs that the C program gave it.

Networks as a whole differ by more than single layers do: a number that is rounded the other way in
an early layer changes what all later layers read. So the model is cut behind each layer whose OFM
is known. In the cut model the OFMs of the C program are inputs, and each layer's OFM is an output:

    x -> conv1 -> a -> conv2 -> y     becomes     x -> conv1 -> a/computed ; a -> conv2 -> y

If each layer is right on the same inputs, the network is right, however far its outputs are off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.reports.report import LayerReport
from npu_tools.verifying.exact_reference import types_of
from npu_tools.verifying.judging import TIE, Array, judge, judge_rounded
from npu_tools.verifying.sessions import run, session_of, with_outputs

COMPUTED = "/computed"
RESIZE = "Resize"
BYTES = (TensorProto.INT8, TensorProto.UINT8)


@dataclass(frozen=True)
class Layers:
    """The judgement on all layers that could be compared.

    `ties` counts the integers that were rounded the other way at a tie. `first_wrong` is a text
    that names the first layer that is wrong; None if all are right.
    """

    compared: int
    ties: int
    first_wrong: str | None

    @property
    def line(self) -> str:
        """One line for the user, if no layer is wrong."""
        ties = f"; rounded the other way at a tie: {self.ties}" if self.ties else ""
        return f"verify: all layers agree on the same inputs (layers: {self.compared}{ties})"


def judge_layers(
    model: ModelProto,
    layers: Sequence[LayerReport],
    traced: Sequence[Array],
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Array],
    *,
    exact: bool,
) -> Layers | None:
    """Compare each layer's OFM with what onnxruntime makes of the same inputs.

    `traced` are the bytes of the OFMs, `feeds` the inputs of one sample, `outputs` the outputs of
    the C program by name. `exact`: the C changes scales of integers as the model does.

    None if the OFMs are not known, or if an output does not come from known ones.
    """
    found = known_maps(model, layers, traced, feeds)
    if not found:
        return None
    cut = cut_behind(model, found)
    names = [*(name + COMPUTED for name in found), *(set(outputs) - found.keys())]
    given = {**feeds, **found}
    variants = [
        dict(zip(names, run(session_of(each), names, given), strict=True))
        for each in (cut, shifted(cut, -TIE), shifted(cut, TIE))
    ]
    by_value = {layer.value: layer for layer in layers}
    ties, first_wrong = 0, None
    for name in names:
        value = name.removesuffix(COMPUTED)
        got = found[value] if name.endswith(COMPUTED) else outputs[name]
        said, explained = compared(got, [each[name] for each in variants], exact=exact)
        ties += explained
        if said and first_wrong is None:
            layer = by_value.get(value)
            what = f"{layer.name} ({layer.op}, {said})" if layer else f"output '{name}' ({said})"
            first_wrong = what
    both = sorted(outputs.keys() & found.keys())
    if first_wrong is None and any(differ(outputs[name], found[name]) for name in both):
        first_wrong = "none of them: the outputs are not what the last layers wrote"
    return Layers(len(found), ties, first_wrong)


def compared(got: Array, references: Sequence[Array], *, exact: bool) -> tuple[str, int]:
    """What is wrong with a map, "" if nothing is, and how many ties explain what differs."""
    if references[0].dtype.kind == "f":
        error = min(relative_error(got.astype(np.float32), each) for each in references)
        return (f"{error:.2e} relative" if error > RELATIVE else ""), 0
    judged = judge(got, references)
    if judged.wrong and not exact:
        judged = judge_rounded(got, references[0])
    if not judged.wrong:
        return "", judged.ties
    return f"{judged.wrong} of {got.size} integers, by at most {judged.steps}", 0


def differ(one: Array, other: Array) -> bool:
    """Whether two maps of the same numbers differ; their element types may."""
    both = [np.asarray(each, np.float64) for each in (one, other)]
    return not np.array_equal(*both, equal_nan=True)


def known_maps(
    model: ModelProto,
    layers: Sequence[LayerReport],
    traced: Sequence[Array],
    feeds: Mapping[str, Array],
) -> dict[str, Array]:
    """The OFMs of the C program that the model has by name, in the model's types and shapes."""
    defined = {name for node in model.graph.node for name in node.output}
    pairs = ((layer.value, raw) for layer, raw in zip(layers, traced))
    wanted = {name: raw for name, raw in pairs if name is not None and name in defined}
    names = list(wanted)
    if not names:
        return {}
    whole = run(session_of(with_outputs(model, names)), names, feeds)
    found: dict[str, Array] = {}
    for name, theirs in zip(names, whole, strict=True):
        like, raw = np.asarray(theirs), wanted[name]
        if raw.nbytes == like.nbytes:
            found[name] = np.ascontiguousarray(raw).view(like.dtype).reshape(like.shape)
    return found


def cut_behind(model: ModelProto, found: Mapping[str, Array]) -> ModelProto:
    """The model with the values in `found` as inputs; what it computes for them are outputs."""
    cut = ModelProto()
    cut.CopyFrom(model)
    for node in cut.graph.node:
        node.output[:] = [name + COMPUTED if name in found else name for name in node.output]
    kept = [value for value in cut.graph.output if value.name not in found]
    del cut.graph.output[:], cut.graph.value_info[:]
    cut.graph.output.extend(kept)
    for name, array in found.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        cut.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
        shape = list(array.shape)
        cut.graph.output.append(helper.make_tensor_value_info(name + COMPUTED, kind, shape))
    return cut


def shifted(model: ModelProto, steps: float) -> ModelProto:
    """The model with `steps` quantisation steps added to what each QuantizeLinear reads.

    They are also added to sums of integers that Resize makes and that lose their fraction then.
    """
    moved = ModelProto()
    moved.CopyFrom(model)
    types = types_of(moved) if any(node.op_type == RESIZE for node in moved.graph.node) else {}
    scales = {tensor.name: tensor for tensor in moved.graph.initializer}
    nodes = list(moved.graph.node)
    del moved.graph.node[:]
    for index, node in enumerate(nodes):
        scale: Any = scales.get(node.input[1]) if node.op_type == "QuantizeLinear" else None
        if scale is not None and scale.data_type == TensorProto.FLOAT:
            shift = numpy_helper.to_array(scale) * np.float32(steps)
            if shift.size == 1:
                name = f"{node.input[0]}/shifted{index}"
                moved.graph.node.append(added(moved, node.input[0], shift.reshape(()), name))
                node.input[0] = name
        if truncates(node, types):
            moved.graph.node.extend(shifted_sums(moved, node, types[node.input[0]], steps))
        else:
            moved.graph.node.append(node)
    return moved


def added(model: ModelProto, source: str, number: Array, name: str) -> NodeProto:
    """A node that adds a number to a value; `name` is what it gives."""
    tensor = numpy_helper.from_array(number, f"{name}/by")
    model.graph.initializer.append(tensor)
    return helper.make_node("Add", [source, tensor.name], [name])


def truncates(node: NodeProto, types: Mapping[str, int]) -> bool:
    """Whether a node resizes integers by sums in float32, whose fraction it drops."""
    sums = any(each.name == "mode" and each.s != b"nearest" for each in node.attribute)
    return node.op_type == RESIZE and sums and types.get(node.input[0]) in BYTES


def shifted_sums(
    model: ModelProto, node: NodeProto, element: int, steps: float
) -> Iterator[NodeProto]:
    """Nodes that do the same as a Resize of integers, with `steps` added before the truncation."""
    name = f"{node.output[0]}/shifted"
    yield helper.make_node("Cast", [node.input[0]], [f"{name}/in"], to=TensorProto.FLOAT)
    floats = NodeProto()
    floats.CopyFrom(node)
    floats.input[0], floats.output[0] = f"{name}/in", f"{name}/sums"
    yield floats
    yield added(model, f"{name}/sums", np.array(steps, np.float32), f"{name}/moved")
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(element))
    ends = [np.array(limit, np.float32) for limit in (limits.min, limits.max)]
    tensors = [numpy_helper.from_array(end, f"{name}/end{i}") for i, end in enumerate(ends)]
    model.graph.initializer.extend(tensors)
    operands = [f"{name}/moved", *(tensor.name for tensor in tensors)]
    yield helper.make_node("Clip", operands, [f"{name}/held"])
    yield helper.make_node("Cast", [f"{name}/held"], [node.output[0]], to=element)
