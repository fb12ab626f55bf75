"""Runs ONNX models with onnxruntime and reads the maps between their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from onnx import ModelProto, TypeProto, ValueInfoProto

from npu_tools.quantizing.quantize_data import Array, Feeds

Run = Callable[[Feeds], dict[str, Array]]
"""Runs a model on its inputs; returns maps by name."""


def session(model: ModelProto, *, simplify: bool = False) -> Any:
    """A session of onnxruntime on one processor, with its optimiser only for `simplify`."""
    ort: Any = import_module("onnxruntime")
    levels = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if simplify else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    data = model.SerializeToString()
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def tapped(model: ModelProto, names: Iterable[str]) -> Run:
    """A function that runs a model and returns its outputs and the maps `names` in it.

    Onnxruntime does not optimise the model, so that each of its maps exists.
    """
    graph = model.graph
    copy = ModelProto()
    copy.CopyFrom(model)
    outputs = [value.name for value in graph.output]
    ports = {*outputs, *(value.name for value in graph.input)}
    inner = sorted(set(names) - ports)
    copy.graph.output.extend(ValueInfoProto(name=name, type=TypeProto()) for name in inner)
    given = sorted((set(names) & ports) - set(outputs))
    run = session(copy)

    def maps(feeds: Feeds) -> dict[str, Array]:
        found = dict(zip([*outputs, *inner], run.run(None, feeds), strict=True))
        return found | {name: feeds[name] for name in given}

    return maps
