"""A random network under construction, with the numbers that each value has for its inputs.

onnxruntime computes each node when it is added. A node stays if onnxruntime takes it, if its
numbers are finite, and if they depend little on rounding: inputs that differ by a few units in the
last place must not give another output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

from helpers.random_onnx import LARGEST, RandomNetwork, Shape, onnxruntime

Array = NDArray[Any]

MOVED = 1e-5
"""By which share of the largest number inputs are moved to see whether a node is stable."""
CHANGED = 1e-4
"""By which share of the largest number an output of a stable node may change then."""
DOMAINS = ("com.microsoft",)


@dataclass
class Network(RandomNetwork):
    """A network under construction; `values` are its float maps, `data` all values' numbers."""

    opset: int = 17
    data: dict[str, Array] = field(default_factory=dict[str, Array])

    @staticmethod
    def start(random: Random, numbers: np.random.Generator, opset: int) -> Network:
        """A network without inputs and nodes."""
        return Network(random, numbers, opset=opset)

    def input(self, array: Array) -> str:
        """A new input with these numbers."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array.shape
        self.know(name, array)
        return name

    def know(self, name: str, array: Array) -> None:
        """Keep the numbers of a value."""
        self.data[name] = array
        if array.dtype == np.float32:
            self.values[name] = array.shape

    def pick(self, rank: int | None = None) -> str | None:
        """A random map of floats of this rank, or of any rank but 0; or None."""
        if rank is not None:
            return self.pick_of("float32", rank=rank)
        names = [name for name, shape in self.values.items() if shape]
        if not names:
            return None
        return names[-1] if self.random.random() < 0.6 else self.random.choice(names)

    def pick_of(self, *kinds: str, rank: int | None = None) -> str | None:
        """A random value whose elements are of one of these kinds, of this rank; or None."""
        names = [
            name
            for name, array in self.data.items()
            if array.dtype.name in kinds and rank in (None, array.ndim) and array.size
        ]
        if not names:
            return None
        return names[-1] if self.random.random() < 0.6 else self.random.choice(names)

    def hide(self, name: str) -> None:
        """Do nothing: later nodes may read any value."""

    def undo(self, name: str) -> None:
        """Remove the last node, which gives this value."""
        super().undo(name)
        del self.data[name]

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> bool:
        """Append a node if it is stable and not too large.

        `outputs` among the attributes is the number of outputs, `domain` the operator's domain.
        """
        names = [f"v{len(self.nodes)}" + "_b" * i for i in range(attributes.pop("outputs", 1))]
        node = helper.make_node(kind, inputs, names, f"{kind.lower()}{names[0]}", **attributes)
        fed = {name: self.data[name] for name in inputs if name in self.data}
        used = {name: self.weights[name] for name in inputs if name in self.weights}
        try:
            model = model_of([node], fed, dict.fromkeys(names), used, self.opset)
            session = session_of(model)
            found = outputs_of(session, fed)
            if not all(sound(array) for array in found):
                return False
            if not all(self.is_stable(session, fed, found, sign) for sign in (1, -1)):
                return False
        except RuntimeError:
            return False
        self.nodes.append(node)
        for name, array in zip(names, found, strict=True):
            self.know(name, array)
        return True

    def is_stable(
        self, session: Any, fed: Mapping[str, Array], found: Sequence[Array], sign: int
    ) -> bool:
        """Whether outputs change little if float inputs are moved in random directions."""
        pairs = enumerate(fed.items())
        moved = {name: self.moved(array, sign * (-1) ** i) for i, (name, array) in pairs}
        if not any(array.dtype == np.float32 for array in fed.values()):
            return True
        for one, two in zip(found, outputs_of(session, moved), strict=True):
            if one.shape != two.shape:
                return False
            gap = np.abs(one.astype(np.float64) - two.astype(np.float64)).max(initial=0)
            most = np.abs(one.astype(np.float64)).max(initial=0)
            if not gap <= (CHANGED * most if one.dtype.kind == "f" else 0):
                return False
        return True

    def moved(self, array: Array, sign: int) -> Array:
        """Numbers moved a little; integers stay."""
        if array.dtype != np.float32:
            return array
        signs = sign * np.where(np.arange(array.size) % 5 == 1, -1, 1).reshape(array.shape)
        step = MOVED * np.abs(array).max(initial=0)
        return (array + step * signs).astype(np.float32)

    @property
    def last(self) -> str:
        """The first output of the last node."""
        return self.nodes[-1].output[0]

    def shape(self, name: str) -> Shape:
        """The shape of a value."""
        return self.data[name].shape

    def finished(self) -> tuple[ModelProto, dict[str, Array]]:
        """The model, and its inputs; outputs are values without a reader, and some others."""
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        able = [name for name in made if self.data[name].dtype != np.int64]
        some = [name for name in able if name not in read or self.random.random() < 0.15]
        outputs = some or able
        self.random.shuffle(outputs)
        feeds = {name: self.data[name] for name in self.inputs if name in read or name == "x0"}
        used = {name: array for name, array in self.weights.items() if name in read}
        wanted = {name: self.data[name] for name in outputs}
        return model_of(self.nodes, feeds, wanted, used, self.opset), feeds


def sound(array: Array) -> bool:
    """Whether an output has elements, not too many, all of them finite and none huge."""
    if not 0 < array.size <= LARGEST:
        return False
    return array.dtype.kind != "f" or bool(np.abs(array).max() < 1e6)


def session_of(model: ModelProto) -> Any:
    """A session of onnxruntime with graph optimisations off.

    Raises: RuntimeError if onnxruntime rejects the model.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise RuntimeError(str(error)) from None


def outputs_of(session: Any, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a session.

    Raises: RuntimeError if onnxruntime fails.
    """
    try:
        return [np.asarray(each) for each in session.run(None, dict(feeds))]
    except Exception as error:
        raise RuntimeError(str(error)) from None


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array | None],
    weights: Mapping[str, Array],
    opset: int,
) -> ModelProto:
    """A model with these ports; an output without numbers has no type."""

    def port(name: str, array: Array | None) -> Any:
        if array is None:
            return helper.make_empty_tensor_value_info(name)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    graph = helper.make_graph(
        list(nodes),
        "random",
        [port(name, array) for name, array in inputs.items()],
        [port(name, array) for name, array in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    domains = [helper.make_opsetid(domain, 1) for domain in DOMAINS]
    opsets = [helper.make_opsetid("", opset), *domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset > 20 else 8)
