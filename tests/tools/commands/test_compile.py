"""npu-compile: the files that it writes, what it prints, and its report."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from onnx import helper

from helpers.small_models import SaveModel, Weights, model_of
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_tools.commands import compile, opt
from npu_tools.compiling import driver
from npu_tools.verifying.stack import CallGraph

KEYS = {"model", "target", "arena_bytes", "weights_bytes", "scratch_bytes", "layers", "off_chip"}
LAYER_KEYS = {"name", "op", "macs", "input_bytes", "output_bytes", "weight_bytes", "offset", "tile"}
TRAFFIC_KEYS = {
    "weight_bytes",
    "feature_map_read_bytes",
    "feature_map_write_bytes",
    "feature_map_reads",
    "feature_map_writes",
}


def test_files_and_table(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "deep" / "out"
    run = [str(small), "--target", "fe310", "-o", str(out), "--prefix", "tiny"]
    assert compile.main(run) == 0
    assert sorted(path.name for path in out.iterdir()) == ["report.json", "tiny.c", "tiny.h"]
    said = capsys.readouterr().out
    # input 64, conv 108 (relu in place), pool 27 (flatten a view), 8, 4 elements
    assert re.search(r"naive: .* 844 +211\n", said)
    assert re.search(r"fused: .* 412 +103\n", said)
    assert re.search(r"planned: .* 276 +69\n", said)
    assert re.search(r"bound: .* 276 +69\n", said)
    assert re.search(r"conv1 +npu.conv2d +1x3x3x3 +972 +256 +108 +120 +\d+\n", said)
    assert "16384" in said
    assert f"wrote {out}/tiny.c" in said


def test_report(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    assert compile.main([str(small), "--target", "fe310", "-o", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((out / "report.json").read_text())
    assert report.keys() >= KEYS | {"naive", "modules", "memory", "stack_bytes"}
    assert all(layer.keys() >= LAYER_KEYS for layer in report["layers"])
    assert report["off_chip"].keys() == report["naive"].keys() == TRAFFIC_KEYS
    assert report["model"] == "net.onnx"
    assert report["target"] == "fe310"
    assert report["arena_bytes"] == report["memory"]["live_bound_bytes"] == 276
    assert report["weights_bytes"] == 4 * (27 + 3 + 8 * 27 + 8 + 32 + 4)
    assert report["off_chip"]["weight_bytes"] == report["weights_bytes"]
    assert report["off_chip"]["feature_map_read_bytes"] == 0
    assert [layer["name"] for layer in report["layers"]] == ["conv1", "dense2", "dense3"]
    assert sum(layer["macs"] for layer in report["layers"]) == 972 + 8 * 27 + 32
    assert report["memory"]["naive_elements"] == 211


def test_scratch_is_what_lives_at_once(small: Path) -> None:
    machine = small.parent / "tiny.toml"
    machine.write_text('name = "tiny"\nsram_bytes = 600\nflash_bytes = 100000\ndma_channels = 1\n')
    report = driver.compile_model(driver.Job(small, str(machine))).report
    # The convolution alone has tile buffers for 27 weights, 3 biases and the image of 64 elements;
    # the tile buffers of the next layer lie in the same memory.
    assert 4 * (27 + 3 + 64) <= report.scratch_bytes < report.arena_bytes


def test_output_is_deterministic(small: Path) -> None:
    outs = [small.parent / name for name in ("one", "two")]
    for out in outs:
        assert compile.main([str(small), "--target", "fe310", "-o", str(out)]) == 0
    for path in outs[0].iterdir():
        assert path.read_bytes() == (outs[1] / path.name).read_bytes()


@pytest.mark.slow
def test_output_does_not_depend_on_hashes(small: Path) -> None:
    written: list[dict[str, bytes]] = []
    for seed in ("0", "1"):
        out = small.parent / f"out{seed}"
        command = [
            sys.executable,
            "-m",
            "npu_tools.commands.compile",
            str(small),
            "--target",
            "host",
        ]
        subprocess.run(
            [*command, "-o", str(out), "--dump-ir", str(out)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert len(written[0]) > 3
    assert written[0] == written[1]


@pytest.mark.parametrize("stem", ["string", "Math", "int", "x" * 200])
def test_file_names_that_cannot_begin_names(stem: str, small: Path) -> None:
    model = small.rename(small.with_name(f"{stem}.onnx"))
    out = small.parent / "out"
    assert compile.main([str(model), "--target", "host", "-o", str(out)]) == 0
    (header,) = out.glob("*.h")
    assert header.stem == (stem[:63] if stem[0] == "x" else f"{stem}_model")


def test_help_names_the_choices_of_the_passes() -> None:
    text = compile.argument_parser().format_help()
    for kind, option in ((FuseConvReluPoolPass, "overlap"), (AssignSramOffsetsPass, "strategy")):
        choices: tuple[str, ...] = get_args(get_type_hints(kind)[option])
        found = re.search(rf"--{option} HOW +([\w|-]+):", text)
        assert found is not None
        assert set(found[1].split("|")) == set(choices)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        compile.main(["--version"])
    assert stopped.value.code == 0
    assert re.fullmatch(r"npu-compile \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_default_folder(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.parent)
    assert compile.main(["net.onnx", "--target", "host"]) == 0
    assert (small.parent / "net" / "net.c").exists()
    assert "wrote net/net.c, net/net.h, net/report.json" in capsys.readouterr().out


def test_weights_in_a_file(small: Path) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "host", "-o", str(out), "--weights", "bin"]
    assert compile.main(run) == 0
    assert (out / "net_weights.bin").stat().st_size >= 4 * (27 + 3 + 8 * 27 + 8 + 32 + 4)


def test_many_weights_go_into_a_file_unless_asked_for(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = [str(small), "--target", "host", "-o"]
    monkeypatch.setattr(driver, "LARGEST_ARRAYS", 4 * (27 + 3 + 8 * 27 + 8 + 32 + 4) - 1)
    for index, choice in enumerate(("auto", "c")):
        out = small.parent / str(index)
        assert compile.main([*run, str(out), "--weights", choice]) == 0
        assert (out / "net_weights.bin").exists() == (choice == "auto")
    monkeypatch.setattr(driver, "LARGEST_ARRAYS", 4 * (27 + 3 + 8 * 27 + 8 + 32 + 4))
    assert compile.main([*run, str(small.parent / "2")]) == 0
    assert not (small.parent / "2" / "net_weights.bin").exists()


def test_plan_as(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "fe310", "-o", str(out), "--plan-as", "i8"]
    assert compile.main(run) == 0
    assert [path.name for path in out.iterdir()] == ["report.json"]
    report = json.loads((out / "report.json").read_text())
    assert report["planned_as"] == "i8"
    assert report["arena_bytes"] == report["memory"]["arena_elements"] == 91
    assert "as if all tensors were i8" in capsys.readouterr().out


def test_plan_as_folds_first(save: SaveModel) -> None:
    """A batch normalisation is folded into weights before planning drops their values."""
    weights: Weights = {"w": np.ones((4, 2, 3, 3), np.float32)}
    weights |= {name: np.ones(4, np.float32) for name in ("scale", "shift", "mean", "variance")}
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["c"], "conv"),
        helper.make_node("BatchNormalization", ["c", *list(weights)[1:]], ["y"], "norm"),
    ]
    model = save(model_of(nodes, weights, (1, 2, 8, 8), "y"))
    report = driver.compile_model(driver.Job(model, "fe310", plan_as="i8")).report
    assert [(layer.op, layer.weight_bytes) for layer in report.layers] == [("npu.conv2d", 72 + 4)]
    assert report.planned_as == "i8"


def test_dump_ir_can_be_read_back(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ir = small.parent / "ir"
    run = [str(small), "--target", "fe310", "-o", str(small.parent / "out"), "--dump-ir", str(ir)]
    assert compile.main(run) == 0
    names = sorted(path.name for path in ir.iterdir())
    assert names[:2] == ["00-import.mlir", "01-npu-split-conv-transpose.mlir"]
    assert names[-1].endswith("-npu-outline-rows.mlir")
    capsys.readouterr()
    for name in names:
        assert opt.main([str(ir / name)]) == 0
        assert capsys.readouterr().out.rstrip() == (ir / name).read_text().rstrip()


@pytest.mark.parametrize("pipeline", ["naive", "fused", "unlu2020", "default", "rows"])
def test_pipelines_and_checks(pipeline: str, small: Path) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "host", "-o", str(out), "--pipeline", pipeline, "--json"]
    assert compile.main([*run, "--check-passes"]) == 0
    expected = {"naive": 844, "fused": 412, "default": 276, "rows": 276}
    report = json.loads((out / "report.json").read_text())
    assert report["arena_bytes"] == expected.get(pipeline, 364)


def test_weights_in_sram(small: Path) -> None:
    out = small.parent / "out"
    run = [str(small), "--target", "host", "-o", str(out), "--weights-in-sram", "120"]
    assert compile.main([*run, "--check-passes"]) == 0
    report = json.loads((out / "report.json").read_text())
    # The weights of the convolution, read once per output, lie beside its input and output.
    assert report["arena_bytes"] == 276 + 120
    assert report["layers"][0]["weight_bytes"] == 120


def test_dynamic_batch(dynamic: Path) -> None:
    out = dynamic.parent / "out"
    run = [str(dynamic), "--target", "host", "-o", str(out), "--input-dim", "batch=2"]
    assert compile.main(run) == 0
    assert json.loads((out / "report.json").read_text())["arena_bytes"] == 532


def test_a_machine_of_the_user(small: Path) -> None:
    machine, out = small.parent / "my.toml", small.parent / "out"
    machine.write_text('name = "mine"\nsram_bytes = 364\nflash_bytes = 100000\n')
    assert compile.main([str(small), "--target", str(machine), "-o", str(out)]) == 0
    assert json.loads((out / "report.json").read_text())["target"] == "mine"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_stack_is_measured(small: Path) -> None:
    out = small.parent / "out"
    assert compile.main([str(small), "--target", "host", "-o", str(out)]) == 0
    measured = json.loads((out / "report.json").read_text())["stack_bytes"]
    assert 0 < measured < 4096


def test_call_graph() -> None:
    text = (
        'node: { title: "net_run" label: "net_run\\nnet.c:9:5\\n112 bytes (static)" }\n'
        'node: { title: "net.c:a" label: "a\\nnet.c:1:1\\n800 bytes (dynamic,bounded)" }\n'
        'node: { title: "net.c:b" label: "b\\nnet.c:2:1\\n16 bytes (static)" }\n'
        'node: { title: "expf" label: "expf\\n<built-in>" shape : ellipse }\n'
        'edge: { sourcename: "net_run" targetname: "net.c:a" label: "net.c:10:1" }\n'
        'edge: { sourcename: "net_run" targetname: "net.c:b" }\n'
        'edge: { sourcename: "net.c:b" targetname: "expf" }\n'
    )
    assert CallGraph.parse(text).deepest("net_run") == 912


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile.main(["--list-pipelines", "--list-targets"]) == 0
    said = capsys.readouterr().out
    assert "unlu2020: " in said
    assert "fe310: 16384 bytes of SRAM" in said


def test_as_a_program(small: Path) -> None:
    program = [sys.executable, "-m", "npu_tools.commands.compile", str(small)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("npu-compile: error: expected --target")


def test_values_that_are_named_by_numbers(
    save: SaveModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Older exporters of PyTorch name values by numbers."""
    nodes = [helper.make_node("Relu", ["input"], ["41"]), helper.make_node("Relu", ["41"], ["42"])]
    model = save(model_of(nodes, {}, (1, 4), "42"))
    out = model.parent / "out"
    run = [str(model), "--target", "host", "--verify", "-o", str(out), "--prefix", "n"]
    assert compile.main(run) == 0, capsys.readouterr().err
    assert "ELEMENTS 4" in (out / "n.h").read_text()
