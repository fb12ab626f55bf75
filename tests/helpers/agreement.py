"""Models of any element types: onnxruntime, the interpreter, the loops and the C must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c
from helpers.road import c_files
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.importers.onnx import import_model

onnxruntime: Any = pytest.importorskip("onnxruntime")

Array = NDArray[Any]


def typed_model(
    nodes: Sequence[NodeProto],
    feeds: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    opset: int = 18,
) -> ModelProto:
    """A model with inputs of the types and shapes of `feeds`; its outputs start with `y`.

    Nodes get the names of their outputs.
    """
    for node in nodes:
        node.name = node.output[0]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in feeds.items()
    ]
    made = [name for node in nodes for name in node.output if name.startswith("y")]
    graph = helper.make_graph(
        list(nodes),
        "net",
        inputs,
        [ValueInfoProto(name=name) for name in made],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def expected(proto: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs as onnxruntime computes them, node by node; bool is uint8."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [stored(value) for value in session.run(None, dict(feeds))]


def stored(value: Array) -> Array:
    """An array of the model as the compiled network holds it: bool is uint8."""
    array = np.asarray(value)
    return array.astype(np.uint8) if array.dtype == np.bool_ else array


def agree(
    nodes: Sequence[NodeProto],
    feeds: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    *,
    opset: int = 18,
    folder: Path | None = None,
    target: str = "host",
    language: str = "c",
) -> ModuleOp:
    """Compare all outputs of a model with onnxruntime; returns the imported module.

    With a `folder` the C is built and run, too.
    """
    proto = typed_model(nodes, feeds, weights, opset)
    wanted = expected(proto, feeds)
    names = [value.name for value in proto.graph.output]
    inputs = [stored(value) for value in feeds.values()]
    module = import_model(proto.SerializeToString(), name="net", base_dir=None)
    module.verify()
    compare("interpreter", names, run_function(module, None, inputs), wanted)
    compare("loops", names, run_function(lowered(module), None, inputs), wanted)
    if folder is not None:
        (folder / "net.onnx").write_bytes(proto.SerializeToString())
        made = compile_model(Job(folder / "net.onnx", target))
        by_name = dict(zip(feeds, inputs, strict=True))
        got = run_c(
            c_files(made),
            "net",
            [by_name[name] for name in made.report.inputs],
            [value.shape for value in wanted],
            output_types=[value.dtype.name for value in wanted],
            language=language,
        )
        compare("C", names, got, wanted)
    return module


def lowered(module: ModuleOp) -> ModuleOp:
    """A copy of a module of layers, as loops on buffers."""
    loops = module.clone()
    context = Context()
    context.load_dialect(NPU)
    for step in (BufferizePass(), LowerToLoopsPass()):
        step.apply(context, loops)
        loops.verify()
    return loops


def compare(what: str, names: Sequence[str], got: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Compare outputs: floats up to the rounding of sums, integers exactly; NaN equals NaN."""
    for name, one, other in zip(names, got, wanted, strict=True):
        assert one.shape == other.shape, f"{what}: {name}"
        assert one.dtype == other.dtype, f"{what}: {name}"
        exact = other.dtype.kind != "f"
        np.testing.assert_allclose(
            one,
            other,
            rtol=0 if exact else 1e-5,
            atol=0 if exact else 1e-5,
            err_msg=f"{what}: {name}",
        )
