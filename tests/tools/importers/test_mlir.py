"""MLIR text as a model: the same plan and the same C results as the ONNX form, from any stop."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

from helpers.from_mlir.by_llvm import computed
from helpers.from_mlir.tosa_integers import integer_text
from helpers.from_mlir.tosa_text import tosa_text
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY, build
from helpers.paths import ROOT
from npu_dialect.interpreters import run_function
from npu_passes.graph.integer_io import IntegerIoPass
from npu_passes.graph.requantize_mode import RequantizeModePass
from npu_tools.commands import compile, quantize
from npu_tools.compiling.check import relative_error
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.importers.frontends import load
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context
from npu_tools.verifying.harness import built
from npu_tools.verifying.samples import RUNS
from npu_tools.verifying.verify import verify

Array = NDArray[Any]

LENET5 = ROOT / "examples/lenet5/lenet5.onnx"
LENET5_MODEL = ModelProto.FromString(LENET5.read_bytes())
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
SLOW = pytest.mark.slow
UPSTREAM = shutil.which("mlir-opt-19")
LINALG = (
    "--pass-pipeline=builtin.module(func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-tensor))"
)
NAMED = "--pass-pipeline=builtin.module(func.func(tosa-to-linalg-named))"


def without_names(source: object) -> str:
    """C without comments, each name replaced by a number in the order of their first use."""
    text = re.sub(r"/\*.*?\*/", "", str(source), flags=re.DOTALL)
    names: dict[str, str] = {}
    return re.sub(
        r"\b[A-Za-z_][A-Za-z0-9_]*", lambda m: names.setdefault(m[0], f"n{len(names)}"), text
    )


def results(compiled: Compiled, samples: Sequence[Array]) -> list[Array]:
    """The outputs of the C for some samples, both in the element types of its ports."""
    with built(compiled.name, compiled.files, compiled.report) as harness:
        ins, outs = harness.ports[: len(samples)], harness.ports[len(samples) :]
        given = [port.real(each) for port, each in zip(ins, samples, strict=True)]
        made = harness.run(given)
        return [port.stored(each) for port, each in zip(outs, made, strict=True)]


def compiled_text(folder: Path, text: str, target: str = "host", **options: Any) -> Compiled:
    """A network from text."""
    path = folder / "net.mlir"
    path.write_text(text, encoding="utf-8")
    return compile_model(Job(path, target, prefix="net", **options))


def upstream(folder: Path, text: str, option: str) -> str:
    """What mlir-opt makes of a text; it verifies it, too."""
    if UPSTREAM is None:
        pytest.skip("mlir-opt-19 is not installed")
    path = folder / "given.mlir"
    path.write_text(text, encoding="utf-8")
    command = [UPSTREAM, str(path), option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@pytest.fixture(scope="module")
def lenet5() -> Compiled:
    """LeNet-5 from its ONNX form."""
    return compile_model(Job(LENET5, "host", prefix="net"))


@needs_compiler
@pytest.mark.parametrize("last", [False, True], ids=["channels second", "channels last"])
def test_lenet5_as_tosa(lenet5: Compiled, tmp_path: Path, *, last: bool) -> None:
    found = compiled_text(tmp_path, tosa_text(LENET5_MODEL, channels_last=last))
    assert found.report.arena_bytes == lenet5.report.arena_bytes
    assert found.report.weights_bytes == lenet5.report.weights_bytes
    image = np.random.default_rng(3).standard_normal((4, 1, 1, 32, 32), np.float32)
    (want,) = results(lenet5, [image])
    (got,) = results(found, [image.transpose(0, 1, 3, 4, 2) if last else image])
    assert np.array_equal(got, want)
    if not last:
        assert without_names(found.files["net.c"]) == without_names(lenet5.files["net.c"])


@pytest.mark.parametrize(
    ("option", "last"),
    [
        pytest.param("--mlir-print-op-generic", False, id="generic"),
        pytest.param("--mlir-print-debuginfo", True, id="locations"),
        pytest.param(LINALG, True, id="linalg, channels last"),
        pytest.param(NAMED, True, id="named, channels last"),
        pytest.param("--canonicalize", True, id="canonical, channels last", marks=SLOW),
        pytest.param(LINALG, False, id="linalg", marks=SLOW),
        pytest.param(NAMED, False, id="named", marks=SLOW),
    ],
)
def test_lenet5_through_mlir_opt(lenet5: Compiled, tmp_path: Path, option: str, last: bool) -> None:
    text = upstream(tmp_path, tosa_text(LENET5_MODEL, channels_last=last), option)
    found = compiled_text(tmp_path, text)
    assert found.report.arena_bytes == lenet5.report.arena_bytes
    assert [layer.macs for layer in found.report.layers if layer.macs] == [
        layer.macs for layer in lenet5.report.layers if layer.macs
    ]


NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "ds_cnn": {},
    "resnet8": {},
    "inception_small": {},
    "mobilenet_v1": {"width": 0.25, "size": (96, 96), "classes": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_the_plan_of_their_onnx_form(name: str, last: bool, tmp_path: Path) -> None:
    model = build(name, **NETWORKS[name])
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    want = compile_model(Job(path, "host", prefix="net"))
    text = tosa_text(model, channels_last=last)
    found = [compiled_text(tmp_path, text)]
    if UPSTREAM is not None:
        found.append(compiled_text(tmp_path, upstream(tmp_path, text, LINALG)))
    for each in found:
        if last:  # an image in rows may lie closer to the map that overwrites it
            assert each.report.arena_bytes <= want.report.arena_bytes
        else:  # and needs no table to be put into rows
            assert each.report.arena_bytes == want.report.arena_bytes
            assert each.report.weights_bytes == want.report.weights_bytes
        assert [layer.macs for layer in each.report.layers if layer.macs] == [
            layer.macs for layer in want.report.layers if layer.macs
        ]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("ds_cnn", True),
        *(pytest.param(each, last, marks=SLOW) for each in NETWORKS for last in (False, True)),
    ],
)
def test_networks_compute_what_their_onnx_form_computes(
    name: str, last: bool, tmp_path: Path
) -> None:
    model = build(name, **NETWORKS[name])
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    text = tosa_text(model, channels_last=last)
    texts = [text] if UPSTREAM is None else [text, upstream(tmp_path, text, LINALG)]
    shape = next(iter(compile_model(Job(path, "host")).report.inputs.values()))
    image = np.random.default_rng(2).standard_normal(shape, np.float32)
    (want,) = run_function(load(path, {}).module, None, [image])
    for index, each in enumerate(texts):
        place = tmp_path / f"net{index}.mlir"
        place.write_text(each, encoding="utf-8")
        given = image.transpose(0, 2, 3, 1) if last else image
        (got,) = run_function(load(place, {}).module, None, [np.ascontiguousarray(given)])
        assert relative_error(got, want) <= 1e-5


INT8 = {"lenet5": 1340, "cifar10": 5760, "resnet8": 18944, "ds_cnn": 8244, "mobilenet_v1": 28032}
"""The bytes of arena of int8 networks in the pipeline `default`."""


def same_as_tosa(model: Path, folder: Path, *, last: bool) -> int:
    """Check that an int8 network and its `tosa` text have one plan; returns its bytes of arena.

    Our C computes what MLIR's own lowering of the text computes, bit for bit.
    """
    want = compile_model(Job(model, "cortex-m4", prefix="net", io="int8", requantize="fixed"))
    module = load(model, {}).module
    IntegerIoPass().apply(context(), module)
    RequantizeModePass("fixed").apply(context(), module)
    text = integer_text(module, channels_last=last)
    found = compiled_text(folder, text, target="cortex-m4")
    assert found.report.arena_bytes == want.report.arena_bytes
    shape = next(iter(want.report.inputs.values()))
    image = np.random.default_rng(3).integers(-128, 128, (8, *shape)).astype(np.int8)
    given = image.transpose(0, 1, 3, 4, 2) if last else image
    (theirs,), (ours,) = results(want, [image]), results(found, [given])
    assert len(np.unique(ours)) > 4
    if "tosa.avg_pool2d" not in text:  # sums and averages round otherwise
        assert np.array_equal(ours, theirs)
    by_mlir = computed(folder, text, list(given), ours.shape[1:])
    assert np.array_equal(ours, by_mlir)
    return found.report.arena_bytes


@needs_compiler
@pytest.mark.parametrize("name", ["lenet5", pytest.param("resnet8", marks=pytest.mark.slow)])
def test_small_int8_network_as_tosa(name: str, tmp_path: Path) -> None:
    same_as_tosa(saved_int8(tmp_path, name, **TINY[name]), tmp_path, last=True)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True], ids=["channels second", "channels last"])
@pytest.mark.parametrize("name", INT8)
def test_int8_network_as_tosa(name: str, tmp_path: Path, *, last: bool) -> None:
    assert same_as_tosa(saved_int8(tmp_path, name), tmp_path, last=last) == INT8[name]


@needs_compiler
@pytest.mark.parametrize("target", ["fe310", pytest.param("zynq7020", marks=pytest.mark.slow)])
def test_every_stop_gives_the_same_program(target: str, tmp_path: Path) -> None:
    dumps = tmp_path / "dump"
    want = compile_model(Job(LENET5, target, prefix="net", dump_ir=dumps))
    stops = sorted(dumps.iterdir())
    assert len(stops) > 20
    for path in stops if target != "fe310" else stops[4::9]:
        found = compile_model(Job(path, target, prefix="net"))
        assert found.report.arena_bytes == want.report.arena_bytes, path.name
        assert without_names(found.files["net.c"]) == without_names(want.files["net.c"]), path.name


@needs_compiler
def test_verify_is_against_the_interpreter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(tosa_text(LENET5_MODEL), encoding="utf-8")
    svg = tmp_path / "map.svg"
    command = [str(path), "--target", "host", "-o", str(tmp_path / "out"), "--verify", "--json"]
    assert compile.main([*command, "--memory-map", str(svg)]) == 0
    report: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert report["verify"]["outputs"][0]["relative"] <= 1e-5
    assert "elided_weights" not in report
    assert svg.exists()


STATE = """\
func.func @net(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>)
    -> (tensor<1x4xf32> {npu.name = "y"}, tensor<1x4xf32> {npu.name = "next"}) {
  %0 = npu.add %x, %h : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = npu.map %0 with tanh : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %1, %0 : tensor<1x4xf32>, tensor<1x4xf32>
}
"""


@needs_compiler
def test_states_are_kept_from_run_to_run(tmp_path: Path) -> None:
    dumps = tmp_path / "dump"
    found = compiled_text(tmp_path, STATE, keep_state=("h=next",), dump_ir=dumps)
    assert [state.name for state in found.report.states] == ["h"]
    (buffers,) = dumps.glob("*-npu-overlay-maps.mlir")
    for each in (found, compile_model(Job(buffers, "host", prefix="net"))):
        result = verify(each, None, 0)
        assert result.agrees
        assert result.samples == RUNS > 1
        assert [output.name for output in result.outputs] == ["y"]


@needs_compiler
def test_wrong_c_is_noticed(tmp_path: Path) -> None:
    found = compiled_text(tmp_path, tosa_text(LENET5_MODEL), weights="bin")
    blob = bytearray(bytes(found.files["net_weights.bin"]))  # pyright: ignore[reportArgumentType]
    blob[:64] = np.full(16, 7.0, np.float32).tobytes()
    wrong = Compiled(
        found.name,
        found.report,
        {**found.files, "net_weights.bin": bytes(blob)},
        found.source,
    )
    result = verify(wrong, None, 0)
    assert not result.agrees
    assert "differs from the interpreter" in result.complaint


def test_elided_weights_are_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tosa_text(LENET5_MODEL)
    text = re.sub(r"dense<\"0x[0-9A-F]{130,}\">", "dense_resource<__elided__>", whole)
    path = tmp_path / "net.mlir"
    path.write_text(text, encoding="utf-8")
    command = [str(path), "--target", "fe310", "-o", str(tmp_path / "out")]
    assert compile.main([*command, "--json"]) == 0
    report: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert report["elided_weights"] is True
    assert report["arena_bytes"] == 5412
    assert report["weights_bytes"] == 246824
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["report.json"]
    assert compile.main([*command, "--verify"]) == 1
    assert "there is no C to --verify" in capsys.readouterr().err


RESOURCES = """\
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense_resource<w> : tensor<2x2xf32>
  %y = npu.fully_connected %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
"""


def test_resources_hold_weights(tmp_path: Path) -> None:
    for _ in range(2):  # xDSL keeps resources from one text to the next
        found = compiled_text(tmp_path, RESOURCES)
        assert not found.report.elided_weights
        assert re.search(r"1\.0f?, +2\.0f?, +3\.0f?, +4\.0f?", str(found.files["net.c"]))
    with pytest.raises(Exception, match="expected 16 bytes as numbers of value, got 12"):
        compiled_text(tmp_path, RESOURCES.replace("00008040", ""))


def test_ops_without_equivalent_are_listed(tmp_path: Path) -> None:
    line = "tosa.reverse %x {axis = 1 : i32} : (tensor<1x4xf32>) -> tensor<1x4xf32>"
    text = (
        "func.func @main(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {\n"
        f"  %a = {line}\n  %b = {line}\n"
        "  return %a, %b : tensor<1x4xf32>, tensor<1x4xf32>\n}\n"
    )
    wanted = (
        "2 ops have no equivalent among the layers:\n"
        "  tosa.reverse: it has no equivalent among the layers\n"
        "  tosa.reverse: it has no equivalent among the layers"
    )
    with pytest.raises(UserError, match=re.escape(wanted)):
        compiled_text(tmp_path, text)


def test_options_whose_pass_has_run_are_rejected(tmp_path: Path) -> None:
    dumps = tmp_path / "dump"
    compile_model(Job(LENET5, "host", prefix="net", dump_ir=dumps))
    path = next(each for each in dumps.iterdir() if "overlay-maps" in each.name)
    compile_model(Job(path, "host", prefix="net", strategy="exact"))
    for option in ({"overlap": "none"}, {"io": "int8"}, {"plan_as": "i8"}):
        name = next(iter(option)).replace("_", "-")
        with pytest.raises(UserError, match=f"buffers already: expected no --{name}"):
            compile_model(Job(path, "host", prefix="net", **option))  # pyright: ignore


def test_quantize_wants_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(RESOURCES, encoding="utf-8")
    data = tmp_path / "data.npz"
    np.savez(data, x=np.zeros((1, 2), np.float32))
    command = [str(path), "--calibrate", str(data), "-o", str(tmp_path / "out.onnx")]
    assert quantize.main(command) == 1
    assert "expected an .onnx or .pt2 model" in capsys.readouterr().err
