"""Networks in several memories, from the model to C: on the host, and at addresses of a board."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY, build
from helpers.onnx_models import Array, chain, model, node, numbers
from helpers.paths import ROOT
from helpers.random_onnx import random_model
from npu_dialect.interpreters import run_function
from npu_tools.commands import compile as command
from npu_tools.compiling.check import MeaningCheck, random_inputs
from npu_tools.compiling.driver import Job, compile_model, prepare
from npu_tools.compiling.plan_check import PlanCheck
from npu_tools.importers.frontends import load
from npu_tools.reports.report import Report
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import EmulatorError, run_on
from npu_tools.verifying.harness import built
from npu_tools.verifying.verify import verify

TWO = """\
name = "two"
registers = 16
[[memory]]
name = "fast"
bytes = {fast}
read_bytes_per_cycle = 8
[[memory]]
name = "slow"
bytes = 4000000
read_bytes_per_cycle = 1
cached = true
[[memory]]
name = "flash"
bytes = 4000000
read_bytes_per_cycle = 1
read_only = true
"""


def two(folder: Path, fast: int) -> str:
    """The file of a machine with `fast` bytes of fast memory."""
    path = folder / "two.toml"
    path.write_text(TWO.format(fast=fast), encoding="utf-8")
    return str(path)


def test_a_chain_in_two_memories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What npu-compile prints, writes and checks, as a user sees it."""
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    target = two(tmp_path, 300)
    out = tmp_path / "out"
    options = ["--target", target, "-o", str(out), "--verify"]
    assert command.main([str(tmp_path / "net.onnx"), *options]) == 0
    said = capsys.readouterr().out
    assert re.search(r"of it in fast, which has 300 +\d+", said)
    assert re.search(r"of it in slow, which has 4000000 +\d+", said)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    fast, slow = report["arenas"]
    assert (fast["memory"], slow["memory"]) == ("fast", "slow")
    assert report["arena_bytes"] == fast["bytes"] + slow["bytes"]
    assert {layer["memory"] for layer in report["layers"]} == {"fast", "slow"}
    header = (out / "net.h").read_text(encoding="utf-8")
    assert "int net_run(const float *x, float *y, void *fast, void *slow);" in header
    assert f"#define NET_FAST_BYTES {fast['bytes']}\n" in header
    assert "#define NET_ARENA_BYTES" not in header


def test_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    small = tmp_path / "small.toml"
    small.write_text(TWO.format(fast=300).replace("bytes = 4000000", "bytes = 700", 1))
    assert command.main([str(tmp_path / "net.onnx"), "--target", str(small)]) == 1
    said = capsys.readouterr().err
    assert "the buffers do not fit into the memories of two:" in said
    assert re.search(r"fast: \d+ bytes needed, 300 available", said)
    assert re.search(r"slow: \d+ bytes needed, 700 available", said)
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 7, 12])
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """After each pass the meaning and the plan are checked, and the C against onnxruntime."""
    graph, feeds = random_model(seed)
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.SerializeToString())
    whole = compile_model(Job(path, two(tmp_path, 4000000))).report.arena_bytes
    checks = (MeaningCheck(list(feeds.values())), PlanCheck())
    done = compile_model(Job(path, two(tmp_path, max(1, whole // 2)), observers=checks))
    assert len(done.report.arenas) == 2
    assert verify(done, None, seed).close


def test_states_in_two_memories(tmp_path: Path) -> None:
    """A state of 64 bytes in each memory: the sum of the inputs so far, and the sum of the sums."""
    nodes = [node("Add", "x h", "n", name="sum"), node("Add", "n g", "m", name="more")]
    nodes.append(node("Relu", "m", "y"))
    outputs = {"y": (16,), "n": (16,), "m": (16,)}
    graph = model(nodes, {"x": (16,), "h": (16,), "g": (16,)}, outputs)
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.SerializeToString())
    job = Job(path, two(tmp_path, 128), keep_state=("h=n", "g=m"))
    done = compile_model(job)
    assert {state.memory for state in done.report.states} == {"fast", "slow"}
    assert "void net_reset(void *fast, void *slow);" in str(done.files["net.h"])
    assert verify(done, None, 0).close


def test_an_input_in_rows(tmp_path: Path) -> None:
    """The three functions of a streamed input have a pointer for each arena."""
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    done = compile_model(Job(tmp_path / "net.onnx", two(tmp_path, 300), stream_input=True))
    header = str(done.files["net.h"])
    assert "int net_begin(void *fast, void *slow);" in header
    assert "int net_push_rows(const float *x, int32_t n, void *fast, void *slow);" in header
    assert "int net_finish(float *y, void *fast, void *slow);" in header
    x: Array = numbers(2, 1, 3, 8, 8, seed=5)
    with built(done.name, done.files, done.report) as harness:
        (got,) = harness.run([x])
    module = load(tmp_path / "net.onnx", {}).module
    for one, wanted in zip(got, x, strict=True):
        np.testing.assert_allclose(one, run_function(module, None, [wanted])[0], atol=1e-5)


def on_board(folder: Path, dtcm: int) -> str:
    """The file of the board with less DTCM."""
    file = resources.files("npu_dialect.targets") / "mps3-an547.toml"
    text = file.read_text(encoding="utf-8").replace("bytes = 524288 ", f"bytes = {dtcm} ")
    path = folder / "board.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("share", [3, 6])
def test_both_memories_of_a_board_at_their_addresses(share: int, tmp_path: Path) -> None:
    """The integers are those of the interpreter, and nothing around the arenas is written."""
    require("mps3-an547")
    path = saved_int8(tmp_path, "resnet8", **TINY["resnet8"])

    def job(dtcm: int) -> Job:
        return Job(path, on_board(tmp_path, dtcm), io="int8", requantize="fixed")

    whole = compile_model(job(524288)).report.arena_bytes
    board = job(whole * share // 10)
    module = load(path, {}).module
    prepare(module, board)
    (image,) = random_inputs(module, seed=3)
    (wanted,) = run_function(module, None, [image])
    done = compile_model(board)
    assert [each.memory for each in done.report.arenas] == ["dtcm", "sram"]
    write_files(tmp_path, done.files)
    result = run_on(board.target, tmp_path / f"{done.name}.c", [{"image": image}])
    np.testing.assert_array_equal(result.runs[0].outputs["output"], wanted.ravel())
    assert result.arena_bytes == done.report.arena_bytes


@pytest.mark.slow
def test_a_write_outside_of_an_arena_is_noticed(tmp_path: Path) -> None:
    """The C of a planted fault: its last layer writes one element behind its arena."""
    require("mps3-an547")
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    done = compile_model(Job(tmp_path / "net.onnx", on_board(tmp_path, 300)))
    write_files(tmp_path, done.files)
    source = tmp_path / "net.c"
    good = {"x": numbers(1, 3, 8, 8)}
    run_on(str(tmp_path / "board.toml"), source, [good])
    text = source.read_text(encoding="utf-8")
    broken = "    dtcm_bytes[NET_DTCM_BYTES] = 0;\n    return 0;\n}"
    source.write_text(broken.join(text.rsplit("    return 0;\n}", 1)), encoding="utf-8")
    with pytest.raises(EmulatorError, match="net_run wrote outside of its arenas"):
        run_on(str(tmp_path / "board.toml"), source, [good])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v2"])
def test_maps_in_external_ram(name: str, tmp_path: Path) -> None:
    """In float, for 224x224 images: more than the 512 KB on the chip."""
    (tmp_path / "net.onnx").write_bytes(build(name).SerializeToString())
    report = compile_model(Job(tmp_path / "net.onnx", "esp32s3", weights="bin")).report
    assert [each.memory for each in report.arenas] == ["sram", "psram"]
    page = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    figures = (f"{each.bytes:,} in `{each.memory}`".replace(",", " ") for each in report.arenas)
    assert f"| `{name}`, 224x224 | `esp32s3` | {', '.join(figures)} |" in page
    job = Job(tmp_path / "net.onnx", "esp32s3", weights="bin", keep_constants=True)
    row = kept_row(report, compile_model(job).report)
    assert f"| `{name}`, 224x224 | `esp32s3` | {row} |" in page


@pytest.mark.slow
def test_constants_in_tightly_coupled_memory(tmp_path: Path) -> None:
    """The float MobileNetV2 of the first row of the tables."""
    graph = build("mobilenet_v2", size=(96, 96), width=0.35, classes=10)
    (tmp_path / "net.onnx").write_bytes(graph.SerializeToString())
    job = Job(tmp_path / "net.onnx", "stm32h743")
    plain = compile_model(job).report
    row = kept_row(plain, compile_model(replace(job, keep_constants=True)).report)
    page = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    assert f"| `mobilenet_v2`, as above | `stm32h743` | {row} |" in page


def kept_row(plain: Report, kept: Report) -> str:
    """The row of the table of constants that stay: cycles without and with copies, and bytes."""
    cycles = [each.time["cycles"] for each in (plain, kept) if each.time is not None]
    millions = (f"{each / 1e6:,.2f}".replace(",", " ") for each in cycles)
    parts = sorted(kept.kept_constants, key=lambda each: each.bytes)
    sizes = (f"{each.bytes:,} in `{each.memory}`".replace(",", " ") for each in parts)
    return f"{' | '.join(millions)} | {', '.join(sizes)}"


def test_a_map_of_gigabytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One message says what each memory needs and has."""
    shape = (1, 3, 16000, 16000)
    graph = model([node("Sigmoid", "x", "y")], {"x": shape}, {"y": shape})
    (tmp_path / "net.onnx").write_bytes(graph.SerializeToString())
    assert command.main([str(tmp_path / "net.onnx"), "--target", "stm32h743"]) == 1
    said = capsys.readouterr().err
    assert "axi: 3072000000 bytes needed, 524288 available" in said
    assert "ValueError" not in said
