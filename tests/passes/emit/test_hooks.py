"""`ID_ON_LAYER(index, name)`: free if undefined, indices as in the report, any name of a layer."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from helpers.c_harness import build, execute
from helpers.paths import LENET5
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.shared.files import write_files

EVIL = (
    '"); evil(); ("',
    "*/ evil(); /*",
    "// a\\",
    "two\nlines\r\n#error evil",
    "%s%n",
    "??/??)",
    "\x00\x1b[2J",
    "größe é 数",
    "a" * 5000,
    ")\n#define NET_ON_LAYER(x, y)",
)
"""Layer names that try to break out of a C string."""


def network(folder: Path, names: tuple[str, ...]) -> Path:
    """A chain of small convolutions with the given names."""
    weight = np.ones((1, 1, 1, 1), np.float32)
    values = ["input", *(f"v{index}" for index in range(len(names)))]
    nodes = [
        helper.make_node("Conv", [values[i], "w"], [values[i + 1]], name)
        for i, name in enumerate(names)
    ]
    shape = (1, 1, 2, 2)
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(values[-1], TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def hooks(compiled: Compiled) -> list[tuple[int, str]]:
    """Index and name of each call of the hook, as written in the C."""
    found = re.findall(r'NET_ON_LAYER\((\d+), "(.*)"\);', str(compiled.files["net.c"]))
    return [(int(number), name) for number, name in found]


def compiled(model: Path, target: str, pipeline: str = "default") -> Compiled:
    """Compile with the prefix `net`."""
    return compile_model(Job(model, target, prefix="net", pipeline=pipeline))


@pytest.mark.parametrize("pipeline", ["default", "rows", "unlu2020", "naive"])
def test_numbers_and_names_are_those_of_the_report(pipeline: str) -> None:
    result = compiled(LENET5, "cortex-m4", pipeline)
    assert hooks(result) == [(i, layer.name) for i, layer in enumerate(result.report.layers)]


def test_tiles_of_a_layer_have_its_number(tmp_path: Path) -> None:
    """With double buffers, there are separate calls for the first and the last tile."""
    text = (resources.files("npu_dialect.targets") / "zynq7020.toml").read_text(encoding="utf-8")
    small, count = re.subn(r"sram_bytes = \d+", "sram_bytes = 9000", text)
    assert count == 1
    machine = tmp_path / "small.toml"
    machine.write_text(small, encoding="utf-8")
    result = compiled(LENET5, str(machine), "off-chip")
    layers = [(i, layer.name) for i, layer in enumerate(result.report.layers)]
    assert len(hooks(result)) > len(layers)
    assert list(dict.fromkeys(hooks(result))) == layers


def test_names_that_occur_twice(tmp_path: Path) -> None:
    """In ONNX, two nodes may have the same name."""
    result = compiled(network(tmp_path, ("same", "same", "same")), "cortex-m4")
    assert hooks(result) == [(0, "same"), (1, "same"), (2, "same")]


@pytest.mark.parametrize("language", ["c", "c++"])
def test_names_cannot_get_into_the_code(tmp_path: Path, language: str) -> None:
    result = compiled(network(tmp_path, EVIL), "host")
    write_files(tmp_path, result.files)
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #define NET_ON_LAYER(index, name) \\
            (fwrite(name, 1, sizeof name - 1, stdout), printf("<%d>", index))
        #include "net.c"
        int main(void)
        {
            static double arena[NET_ARENA_BYTES / 8 + 4];
            static float input[NET_INPUT_ELEMENTS], output[4];
            char *aligned = (char *)arena;
            aligned += (16u - (uintptr_t)aligned % 16u) % 16u;
            return net_run(input, output, aligned);
        }
        """
    )
    build(tmp_path, ["main.c"], language)
    expected = "".join(f"{name[:200]}<{index}>" for index, name in enumerate(EVIL))
    # Text mode turns line ends of the host into "\\n".
    assert execute(tmp_path) == expected.replace("\r\n", "\n")
    assert str(result.files["net.c"]).isascii()
    assert json.dumps(result.report.as_dict())


@pytest.mark.parametrize("weights", ["c", "bin"])
def test_a_hook_that_is_unset_leaves_nothing(tmp_path: Path, weights: str) -> None:
    """The object file is the same with no definition, an empty one, and no hook in the source."""
    job = Job(LENET5, "host", prefix="net", weights="bin" if weights == "bin" else "c")
    files = compile_model(job).files
    source = str(files["net.c"])
    without = re.sub(r"#ifndef NET_ON_LAYER\n.*?#endif\n", "", source, flags=re.DOTALL)
    without = re.sub(r"\n *NET_ON_LAYER\(.*\);", "", without)
    assert "ON_LAYER" in source
    assert "ON_LAYER" not in without
    objects: set[bytes] = set()
    for number, (text, *options) in enumerate(
        [(source,), (source, "-DNET_ON_LAYER(index, name)="), (without,)]
    ):
        folder = tmp_path / str(number)
        write_files(folder, {**files, "net.c": text})
        command = ["gcc", "-std=c99", "-O2", *options, "-c", "net.c"]
        subprocess.run(command, cwd=folder, check=True)
        objects.add((folder / "net.o").read_bytes())
    assert len(objects) == 1
