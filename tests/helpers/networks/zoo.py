"""Builds the networks of examples/networks, and reads sizes, shapes and outputs from them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, helper, shape_inference

from helpers.paths import ROOT

FOLDER = ROOT / "examples" / "networks"
NETWORKS = (
    "cifar10",
    "darts",
    "ds_cnn",
    "efficientnet",
    "flownet_s",
    "inception_small",
    "inception_v3",
    "lenet5",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3",
    "nasnet_a",
    "randwire",
    "resnet18",
    "resnet50",
    "resnet8",
    "squeezenet1_1",
    "xception",
)
TINY: dict[str, dict[str, Any]] = {
    "cifar10": {"width": 1 / 4, "size": (16, 16)},
    "darts": {"width": 1 / 4, "size": (8, 8)},
    "ds_cnn": {"width": 1 / 8},
    "efficientnet": {"width": 1 / 4, "size": (32, 32), "classes": 10},
    "flownet_s": {"width": 1 / 16, "size": (64, 128)},
    "inception_small": {"size": (15, 15)},
    "inception_v3": {"width": 1 / 16, "size": (75, 75), "classes": 10},
    "lenet5": {"width": 1 / 2},
    "mobilenet_v1": {"width": 1 / 8, "size": (32, 32)},
    "mobilenet_v2": {"width": 1 / 4, "size": (32, 32), "classes": 10},
    "mobilenet_v3": {"width": 1 / 4, "size": (32, 32), "classes": 10},
    "nasnet_a": {"width": 1 / 16, "size": (8, 8)},
    "randwire": {"width": 1 / 16, "size": (32, 32), "classes": 10},
    "resnet18": {"width": 1 / 16, "size": (32, 32), "classes": 10},
    "resnet50": {"width": 1 / 16, "size": (32, 32), "classes": 10},
    "resnet8": {"width": 1 / 4, "size": (16, 16)},
    "squeezenet1_1": {"width": 1 / 4, "size": (32, 32), "classes": 10},
    "xception": {"width": 1 / 16, "size": (96, 96), "classes": 10},
}
"""Options with which each network is small, but has all its layers."""

Array = NDArray[np.float32]


def script(name: str) -> ModuleType:
    """The script of a network as a module."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return import_module(name)


def build(name: str, **options: Any) -> ModelProto:
    """A network, with some of its own options changed (seed, bias, width, size, classes)."""
    module = script(name)
    return module.build(replace(module.OWN, **options))


def check(model: ModelProto) -> None:
    """Check a model with ONNX's checker, shapes included."""
    checker: Any = onnx.checker
    checker.check_model(model, full_check=True)


def parameters(model: ModelProto) -> dict[str, int]:
    """Elements of each weight and bias, by name."""
    return {
        tensor.name: prod(tensor.dims) for tensor in model.graph.initializer if "." in tensor.name
    }


def by_module(sizes: dict[str, int]) -> Counter[str]:
    """The sizes summed by the part of the name before the slash."""
    sums = Counter[str]()
    for name, size in sizes.items():
        sums[name.partition("/")[0]] += size
    return sums


def shapes(model: ModelProto) -> dict[str, list[int]]:
    """Shape of each node's output, by the node's name."""
    graph = shape_inference.infer_shapes(model, strict_mode=True).graph
    known = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*graph.value_info, *graph.output)
    }
    return {node.name: known[node.output[0]] for node in graph.node}


def image(model: ModelProto, seed: int) -> Array:
    """Normally distributed numbers for the input."""
    dims = model.graph.input[0].type.tensor_type.shape.dim
    generator = np.random.default_rng(seed)
    return generator.standard_normal([dim.dim_value for dim in dims], dtype=np.float32)


def run(model: ModelProto, source: Array, also: Sequence[str] = ()) -> list[Array]:
    """The results of onnxruntime: the output, then the values named in `also`."""
    watched = ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in also)
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(
        watched.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, {"image": source}))
