"""A user's mistake gives one diagnostic, exit code 1, no file and no traceback."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from helpers.failures import expect_failure
from npu_tools.commands import compile, opt

MANIPULATE = Callable[[ModelProto], None]


def graph_of(nodes: list[onnx.NodeProto], element: int = TensorProto.FLOAT) -> ModelProto:
    """A model from `input` [1, 4] to `out`."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", element, [1, 4])],
        [helper.make_tensor_value_info("out", element, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def external(location: str) -> ModelProto:
    """A model whose weight lies in another file."""
    model = graph_of([helper.make_node("Add", ["input", "w"], ["out"], "add1")])
    weight = numpy_helper.from_array(np.ones((1, 4), np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", location
    model.graph.initializer.append(weight)
    return model


def relu(element: int) -> ModelProto:
    """One Relu on tensors of a type."""
    return graph_of([helper.make_node("Relu", ["input"], ["out"], "relu1")], element)


def unsupported() -> ModelProto:
    """A model with two nodes that the importer does not know."""
    nodes = [
        helper.make_node("Bernoulli", ["input"], ["a"], "first"),
        helper.make_node("Det", ["a"], ["out"], "second"),
    ]
    return graph_of(nodes)


def cycle() -> ModelProto:
    """A model with two nodes that read each other."""
    nodes = [
        helper.make_node("Add", ["input", "b"], ["a"], "one"),
        helper.make_node("Relu", ["a"], ["b"], "two"),
        helper.make_node("Relu", ["a"], ["out"], "three"),
    ]
    return graph_of(nodes)


def wrong_shapes() -> ModelProto:
    """A matrix product whose shapes do not fit."""
    model = graph_of([helper.make_node("MatMul", ["input", "w"], ["out"], "product")])
    model.graph.initializer.append(numpy_helper.from_array(np.ones((5, 3), np.float32), "w"))
    return model


MODELS: dict[str, tuple[Callable[[], ModelProto], tuple[str, ...]]] = {
    "missing external data": (lambda: external("weights.bin"), ("net.onnx", "weights.bin")),
    "escaping external data": (lambda: external("../weights.bin"), ("net.onnx", "../weights.bin")),
    "absolute external data": (lambda: external("/etc/passwd"), ("net.onnx", "/etc/passwd")),
    "unsupported ops": (unsupported, ("net.onnx", "Bernoulli", "first", "Det", "second")),
    "float16": (lambda: relu(TensorProto.FLOAT16), ("input", "float16", "float32")),
    "double": (lambda: relu(TensorProto.DOUBLE), ("input", "double", "float32")),
    "string": (lambda: relu(TensorProto.STRING), ("input", "string", "float32")),
    "cycle": (cycle, ("net.onnx", "cycle")),
    "wrong shapes": (wrong_shapes, ("net.onnx", "product")),
}


@pytest.mark.parametrize("what", MODELS)
def test_bad_models(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build, words = MODELS[what]
    path, out = tmp_path / "net.onnx", tmp_path / "out"
    path.write_bytes(build().SerializeToString())
    run = [str(path), "--target", "host", "-o", str(out)]
    expect_failure(capsys, lambda: compile.main(run), words)
    assert not out.exists()


@pytest.mark.parametrize("content", [b"", b"hello, I am no model", b"\x08\x07\xff\xff\xff\xff"])
def test_not_an_onnx_file(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "net.onnx", tmp_path / "out"
    path.write_bytes(content)
    run = [str(path), "--target", "host", "-o", str(out)]
    expect_failure(capsys, lambda: compile.main(run), ("net.onnx",))
    assert not out.exists()


def test_truncated_files(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = small.read_bytes(), small.parent / "out"
    for size in range(1, len(data), len(data) // 12):
        small.write_bytes(data[:size])
        run = [str(small), "--target", "host", "-o", str(out)]
        expect_failure(capsys, lambda: compile.main(run), ("net.onnx",))
        assert not out.exists()


OPTIONS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "flash of more bytes than an i64 holds": (
        ["--target", "host", "--flash-bytes", "99999999999999999999"],
        ("--flash-bytes", "expected at most 9223372036854775807"),
    ),
    "no target": ([], ("--target", "fe310")),
    "unknown target": (["--target", "fe311"], ("fe311", "fe310", "cortex-m4", ".toml")),
    "missing target file": (["--target", "my.toml"], ("my.toml",)),
    "unknown pass": (["--target", "host", "--pipeline", "npu-bufferise"], ("npu-bufferize",)),
    "unknown pass option": (
        ["--target", "host", "--pipeline", "npu-assign-sram-offsets{strateg=none}"],
        ("npu-assign-sram-offsets", "strateg", "strategy"),
    ),
    "wrong value of a pass option": (
        ["--target", "host", "--strategy", "best"],
        ("npu-assign-sram-offsets", "strategy", "best", "greedy"),
    ),
    "option for a pass that is not there": (
        ["--target", "host", "--pipeline", "naive", "--overlap", "none"],
        ("npu-fuse-conv-relu-pool",),
    ),
    "pipeline that does not parse": (["--target", "host", "--pipeline", "a{"], ("pipeline",)),
    "pipeline without offsets": (
        ["--target", "host", "--pipeline", "canonicalize"],
        ("npu-assign-sram-offsets",),
    ),
    "prefix": (["--target", "host", "--prefix", "a-b"], ("a-b", "C identifier")),
    "keyword as prefix": (["--target", "host", "--prefix", "int"], ("int", "C identifier")),
    "header as prefix": (["--target", "host", "--prefix", "string"], ("string", "header")),
    "long prefix": (["--target", "host", "--prefix", "x" * 300], ("characters",)),
    "negative seed": (["--target", "host", "--verify", "--seed", "-1"], ("--seed", "-1")),
    "unknown option": (["--target", "host", "--fast"], ("--fast",)),
    "input dim": (["--target", "host", "--input-dim", "batch"], ("batch", "name=N")),
    "unknown input dim": (["--target", "host", "--input-dim", "batch=2"], ("batch",)),
    "plan and verify": (["--target", "host", "--plan-as", "i8", "--verify"], ("--plan-as",)),
    "verify a plan": (
        ["--target", "host", "--pipeline", "kim2019", "--verify"],
        ("kim2019", "--verify"),
    ),
    "no transfers": (
        ["--target", "exynos-npu", "--pipeline", "naive"],
        ("npu.conv2d", "#npu.dram", "npu-tile-loops"),
    ),
    "a plan without transfers": (
        ["--target", "exynos-npu", "--pipeline", "naive", "--plan-as", "i8"],
        ("npu.conv2d", "#npu.dram", "npu-tile-loops"),
    ),
    "verify file": (["--target", "host", "--verify=none.npz"], ("none.npz",)),
    "negative bytes": (["--target", "host", "--weights-in-sram", "-1"], ("-1",)),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_bad_options(what: str, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = OPTIONS[what]
    out = small.parent / "out"
    run = [str(small), "-o", str(out), *arguments]
    expect_failure(capsys, lambda: compile.main(run), words)
    assert not out.exists()


def test_dynamic_shape(dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = [str(dynamic), "--target", "host", "-o", str(dynamic.parent / "out")]
    expect_failure(capsys, lambda: compile.main(run), ("net.onnx", "input", "--input-dim"))
    assert not (dynamic.parent / "out").exists()


def test_too_small_sram(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, out = small.parent / "tiny.toml", small.parent / "out"
    machine.write_text('name = "tiny"\nsram_bytes = 200\nflash_bytes = 100000\n')
    run = [str(small), "--target", str(machine), "-o", str(out)]
    # 256 bytes of input and 108 of pooled maps live together, 88 of which they share.
    expect_failure(capsys, lambda: compile.main(run), ("net.onnx", "276", "200", "input", "p1"))
    assert not out.exists()


def test_too_small_flash(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, out = small.parent / "tiny.toml", small.parent / "out"
    machine.write_text('name = "tiny"\nsram_bytes = 1000\nflash_bytes = 1159\n')
    run = [str(small), "--target", str(machine), "-o", str(out)]
    expect_failure(capsys, lambda: compile.main(run), ("net.onnx", "1160", "1159", "tiny"))
    assert not out.exists()


def test_folder_that_cannot_be_written(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (small.parent / "file").write_text("in the way")
    run = [str(small), "--target", "host", "-o", str(small.parent / "file" / "out")]
    expect_failure(capsys, lambda: compile.main(run), ("file/out",))


def test_missing_and_unknown_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("none.onnx", "net.pb", "none.pt2", ""):
        run = [str(tmp_path / name), "--target", "host"]
        expect_failure(capsys, lambda run=run: compile.main(run), (name,))


MLIR = {
    "malformed": ("func.func @f( {", ("bad.mlir:1",)),
    "bytes": ("\udcff\udcfe", ("bad.mlir",)),
    "unknown op": ('"npu.wish"() : () -> ()', ("npu.wish",)),
    "wrong shape": (
        "func.func @f(%x: tensor<4xf32>) {\n"
        '  %y = npu.relu %x {npu.layer = "r1"} : tensor<4xf32> -> tensor<5xf32>\n'
        "  func.return\n}",
        ("bad.mlir", "npu.relu", "r1", "[4]", "[5]"),
    ),
    "wrong machine": (
        'module attributes {npu.target = #npu.target<"m", {sram_bytes = 0 : i64}>} {}',
        ("bad.mlir", "flash_bytes"),
    ),
}


@pytest.mark.parametrize("what", MLIR)
def test_malformed_mlir(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words = MLIR[what]
    path, out = tmp_path / "bad.mlir", tmp_path / "out.mlir"
    path.write_bytes(text.encode(errors="surrogateescape"))
    expect_failure(capsys, lambda: opt.main([str(path), "-o", str(out)]), words)
    assert not out.exists()


OPT_OPTIONS = {
    "unknown pass": (["-p", "npu-bufferise"], ("npu-bufferise", "npu-bufferize")),
    "anchor that is not closed": (["--pass-pipeline", "builtin.module(cse"], ("`)`",)),
    "another anchor": (["--pass-pipeline", "func.func(cse)"], ("func.func",)),
    "two pipelines": (["-p", "cse", "--pass-pipeline", "cse"], ("both",)),
    "unknown target": (["-t", "fortran"], ("fortran",)),
    "unknown target option": (["-t", "mlir{x=1}"], ("mlir", "'x'")),
    "target that does not parse": (["-t", "{"], ("{",)),
    "unknown option": (["--fast"], ("--fast",)),
    "output in no folder": (["-o", "/nowhere/out.mlir"], ("/nowhere/out.mlir",)),
}


@pytest.mark.parametrize("what", OPT_OPTIONS)
def test_bad_options_of_npu_opt(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, words = OPT_OPTIONS[what]
    path = tmp_path / "ok.mlir"
    path.write_text("func.func @f() {\n  func.return\n}\n")
    expect_failure(capsys, lambda: opt.main([str(path), *arguments]), words)
