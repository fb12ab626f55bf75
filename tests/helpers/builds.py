"""Help for the tests of integration files: a small model, its compilation, and other tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_tools.commands import compile
from npu_tools.integration.network import Network

HEADER = """\
#include <stdint.h>
#define NET_ARENA_BYTES 64
#define NET_X_OFFSET 0
#define NET_X_ELEMENTS 4
#define NET_Y_OFFSET 16
#define NET_Y_ELEMENTS 4
#define NET_WEIGHTS_BYTES 12
#ifdef __cplusplus
extern "C" {
#endif
int net_run(const int8_t *x, int8_t *y, void *arena);
#ifdef __cplusplus
}
#endif
"""
FILES: Mapping[str, str | bytes] = {
    "net.c": '#include "net.h"\n#include <math.h>\n',
    "net.h": HEADER,
    "net_weights.bin": b"123",
}


def small_net(path: Path) -> None:
    """Write a model: a convolution of a 1x1x8x8 map, four outputs."""
    weight = np.linspace(-1, 1, 4 * 64, dtype=np.float32).reshape(4, 1, 8, 8)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["input", "w"], ["maps"], "conv"),
            helper.make_node("Softmax", ["maps"], ["scores"], "softmax", axis=1),
        ],
        "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, (1, 1, 8, 8))],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, 4, 1, 1))],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def network_of(files: Mapping[str, str | bytes]) -> Network:
    """The network `net` of some files."""
    return Network("net", files)


def compiled(small: Path, *more: str) -> Path:
    """Compile the small network; returns the output folder."""
    out = small.parent / "out"
    assert compile.main([str(small), "--target", "host", "-o", str(out), *more]) == 0
    return out


def run(*command: object, **more: Any) -> str:
    """Run a program that has to succeed; returns its standard output."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-1500:]
    return done.stdout


def paths(folder: Path) -> list[str]:
    """The relative paths of all files below a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def needs(tool: str) -> str:
    """The path of a tool. If it is missing, the test is skipped, or fails if CI=true."""
    path = shutil.which(tool)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{tool} is not installed", pytrace=False)
        pytest.skip(f"{tool} is not installed")
    return path
