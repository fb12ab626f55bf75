"""Constants that stay in fast memory, from the model to C: on the host, and on a board."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from helpers.onnx_models import Array, chain, model, node, numbers
from helpers.random_onnx import random_model
from npu_dialect.interpreters import run_function
from npu_tools.commands import compile as command
from npu_tools.compiling.check import MeaningCheck, random_inputs
from npu_tools.compiling.driver import Job, compile_model, prepare
from npu_tools.compiling.plan_check import PlanCheck
from npu_tools.importers.frontends import load
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.harness import built
from npu_tools.verifying.verify import verify

BOARD = """\
name = "board"
registers = 16
clock_hz = 1000000
macs_per_cycle = {{ f32 = 0.5, i8 = 0.5 }}
[[memory]]
name = "fast"
bytes = {fast}
read_bytes_per_cycle = 8
[[memory]]
name = "slow"
bytes = {slow}
read_bytes_per_cycle = 1
[[memory]]
name = "flash"
bytes = 4000000
read_bytes_per_cycle = 0.5
read_only = true
"""

ONE = """\
name = "one"
registers = 16
[[memory]]
name = "ram"
bytes = 8000
read_bytes_per_cycle = 4
[[memory]]
name = "flash"
bytes = 4000000
read_bytes_per_cycle = 0.25
read_only = true
"""


def board(folder: Path, fast: int, slow: int = 4000000) -> str:
    """The file of a machine with `fast` bytes of fast memory."""
    path = folder / "board.toml"
    path.write_text(BOARD.format(fast=fast, slow=slow), encoding="utf-8")
    return str(path)


def saved(folder: Path, graph: ModelProto | None = None) -> Path:
    """The file of a model, the chain if none is given."""
    path = folder / "net.onnx"
    path.write_bytes((graph or chain()).SerializeToString())
    return path


def test_what_a_user_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copies are in the table, in report.json and in the header, and the time is shorter."""
    out = tmp_path / "out"
    options = ["--target", board(tmp_path, 2000), "-o", str(out)]
    assert command.main([str(saved(tmp_path)), *options, "--keep-constants"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"of it copies of \d+ constants in fast +\d+", said)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    (kept,) = [each for each in report["kept_constants"] if each["memory"] == "fast"]
    sizes = {each["memory"]: each["bytes"] for each in report["arenas"]}
    assert kept["offset"] + kept["bytes"] == sizes["fast"] <= 2000
    assert "v" in kept["constants"]
    assert report["arena_bytes"] == sum(sizes.values())
    header = (out / "net.h").read_text(encoding="utf-8")
    assert "int net_init(void *fast" in header
    assert f"#define NET_FAST_BYTES {sizes['fast']}\n" in header
    assert command.main([str(saved(tmp_path)), *options]) == 0
    plain = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert "kept_constants" not in plain
    assert report["time"]["cycles"] < plain["time"]["cycles"]
    slow = plain["time"]["memory_cycles"]
    assert sum(layer.get("memory_cycles", 0) for layer in plain["time"]["layers"]) == slow
    assert re.search(rf"of it for slower memories +{slow} ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "cortex-m4"], "expected a machine without dma_channels whose file has a "),
        (["--target", "zynq7020"], "expected a machine without dma_channels whose file has a "),
        (
            ["--target", "stm32h743", "--pipeline", "kim2019"],
            "expected npu-lower-to-loops in the pass pipeline",
        ),
    ],
)
def test_where_nothing_can_be_kept(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    options = [*options, "--keep-constants", "-o", str(folder)]
    assert command.main([str(saved(tmp_path)), *options]) == 1
    assert not folder.exists()
    said = capsys.readouterr().err
    assert f"--keep-constants: {message}" in said
    assert "Traceback" not in said


CALLS = """\
#include <stdio.h>
#include <string.h>
#include "net.h"
static _Alignas(16) unsigned char fast[NET_FAST_BYTES], slow[NET_SLOW_BYTES];
static float x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
int main(void) {
  memset(fast, 0xA5, sizeof fast);
  memset(slow, 0xA5, sizeof slow);
  for (int i = 0; i < NET_X_ELEMENTS; ++i) x[i] = (float)(i % 7);
  printf("%d ", net_run(x, y, fast, slow));
  printf("%d%d%d ", net_init(NULL, slow), net_init(fast + 4, slow), net_init(fast, slow));
  printf("%d %d ", net_run(x, y, fast, slow), net_run(x, y, fast, slow));
  memset(fast, 0, sizeof fast);
  printf("%d\\n", net_run(x, y, fast, slow));
  return 0;
}
"""


@pytest.mark.slow
def test_a_run_before_init_is_refused(tmp_path: Path) -> None:
    """It returns 3, also after the memory has lost its content; under sanitizers."""
    job = Job(saved(tmp_path), board(tmp_path, 600, 4000), keep_constants=True)
    write_files(tmp_path, compile_model(job).files)
    (tmp_path / "main.c").write_text(CALLS, encoding="utf-8")
    program = tmp_path / "program"
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    sources = [str(tmp_path / "main.c"), str(tmp_path / "net.c")]
    subprocess.run(["gcc", *flags, *sources, "-lm", "-o", str(program)], check=True)
    run = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert run.stdout == "3 120 0 0 3\n"


@pytest.mark.slow
def test_a_machine_with_one_memory(tmp_path: Path) -> None:
    """The copies lie behind the only arena; weights from a file are copied, too."""
    path = tmp_path / "one.toml"
    path.write_text(ONE, encoding="utf-8")
    job = Job(saved(tmp_path), str(path), keep_constants=True, weights="bin")
    done = compile_model(job)
    assert "int net_init(void *arena, const void *weights);" in str(done.files["net.h"])
    assert verify(done, None, 0).close


@pytest.mark.slow
def test_states_with_copies(tmp_path: Path) -> None:
    """States are reset and copies are made before the first run; both stay."""
    nodes = [
        node("Conv", "x w", "c", name="conv"),
        node("Add", "c h", "n", name="sum"),
        node("Relu", "n", "y"),
    ]
    shape = (1, 2, 6, 6)
    weights = {"w": numbers(2, 3, 3, 3)}
    outputs = {"y": shape, "n": shape}
    graph = model(nodes, {"x": (1, 3, 8, 8), "h": shape}, outputs, weights=weights)
    target = board(tmp_path, 600)
    job = Job(saved(tmp_path, graph), target, keep_state=("h=n",), keep_constants=True)
    done = compile_model(job)
    header = " ".join(str(done.files["net.h"]).replace(" * ", "").split())
    assert "But for states and copies of constants, their content" in header
    assert verify(done, None, 0).close


@pytest.mark.slow
def test_an_input_in_rows(tmp_path: Path) -> None:
    """Each of the three functions looks for the copies."""
    job = Job(saved(tmp_path), board(tmp_path, 600), stream_input=True, keep_constants=True)
    done = compile_model(job)
    assert str(done.files["net.c"]).count("return 3;") >= 3
    x: Array = numbers(2, 1, 3, 8, 8, seed=5)
    with built(done.name, done.files, done.report) as harness:
        (got,) = harness.run([x])
    module = load(tmp_path / "net.onnx", {}).module
    for one, wanted in zip(got, x, strict=True):
        np.testing.assert_allclose(one, run_function(module, None, [wanted])[0], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 12])
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """After each pass the meaning and the plan are checked, and the C against onnxruntime."""
    graph, feeds = random_model(seed)
    path = saved(tmp_path, graph)
    whole = compile_model(Job(path, board(tmp_path, 4000000))).report.arena_bytes
    checks = (MeaningCheck(list(feeds.values())), PlanCheck())
    target = board(tmp_path, max(64, whole // 2), whole + 256)
    done = compile_model(Job(path, target, observers=checks, keep_constants=True))
    assert done.report.kept_constants
    assert verify(done, None, seed).close


@pytest.mark.slow
def test_on_a_board(tmp_path: Path) -> None:
    """The integers are those of the interpreter, with copies in both memories of the board."""
    require("mps3-an547")
    path = saved_int8(tmp_path, "resnet8", **TINY["resnet8"])
    board_job = Job(path, "mps3-an547", io="int8", requantize="fixed", keep_constants=True)
    module = load(path, {}).module
    prepare(module, board_job)
    (image,) = random_inputs(module, seed=3)
    (wanted,) = run_function(module, None, [image])
    done = compile_model(board_job)
    assert done.report.kept_constants
    write_files(tmp_path, done.files)
    result = run_on(board_job.target, tmp_path / f"{done.name}.c", [{"image": image}])
    np.testing.assert_array_equal(result.runs[0].outputs["output"], wanted.ravel())
    assert result.arena_bytes == done.report.arena_bytes
