"""Maps without axes on machines with a DMA engine and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import ModelProto

from helpers.c_harness import run_c
from helpers.onnx_models import model, node, numbers
from helpers.random_onnx import run
from helpers.road import c_files
from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.compiling.driver import Job, compile_model

MODELS = {
    "scalar": model([node("Relu", "x")], {"x": ()}),
    "mean of all": model(
        [node("Relu", "x", "r"), node("ReduceMean", "r", keepdims=0)], {"x": (1, 2, 4, 4)}
    ),
}


@pytest.mark.parametrize("target", ["exynos-npu", "zynq7020", "cortex-m4"])
@pytest.mark.parametrize("proto", MODELS.values(), ids=list(MODELS))
def test_same_as_onnxruntime(target: str, proto: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    shape = tuple(each.dim_value for each in proto.graph.input[0].type.tensor_type.shape.dim)
    feeds = {"x": numbers(*shape)}
    (wanted,) = run(proto, dict(feeds))
    found = compile_model(Job(path, target))
    (got,) = run_c(c_files(found), "net", [feeds["x"]], [wanted.shape])
    assert relative_error(got, wanted) <= RELATIVE
