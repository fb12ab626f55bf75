"""onnxruntime as the reference: sessions, and models that also return intermediate values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from onnx import ModelProto, ValueInfoProto

from npu_tools.shared.errors import UserError
from npu_tools.verifying.exact_reference import with_exact_sums


def with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """A copy of a model that also returns the intermediate values of these names."""
    copy = ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in copy.graph.output}
    copy.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in present)
    return copy


def run(session: Any, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
    """The values of these names that a session computes.

    Raises: UserError if onnxruntime cannot run the model on these inputs.
    """
    try:
        return session.run(list(names), dict(feeds))
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise UserError(f"--verify: onnxruntime cannot run the model: {error}") from None


def session_of(model: ModelProto, *, optimised: bool = False) -> Any:
    """An onnxruntime session for a model: one thread, exact integer sums.

    `optimised`: with onnxruntime's optimiser, which makes integer operators of float ones.

    Raises: UserError if onnxruntime rejects the model.
    """
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(
            with_exact_sums(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's exceptions share no public base
        raise UserError(f"--verify: onnxruntime rejects the model: {error}") from None
