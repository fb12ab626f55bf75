"""Operators that a table defines: those of Deeploy, and those of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper

from helpers.onnx_models import Array, model, node
from npu_dialect.interpreters import run_function
from npu_tools.commands import compile
from npu_tools.importers.onnx import import_model
from npu_tools.importers.onnx.functions import built_in

SHAPE = (2, 3, 5)


def number(value: float, *shape: int) -> Any:
    """A tensor of float32 for an attribute, as QuantLab writes it."""
    return numpy_helper.from_array(np.full(shape, value, np.float32))


def bytes_of(seed: int, *shape: int) -> Array:
    """Random integers of 8 bits, as float32."""
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.float32)


def computed(nodes: list[NodeProto], weights: dict[str, Array], x: Array, opset: int = 10) -> Array:
    """What the layers of a model compute."""
    proto = model(nodes, {"x": x.shape}, weights=weights, opset=opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    module = import_model(proto.SerializeToString(), name="test", base_dir=None)
    return np.asarray(run_function(module, None, [x])[0]).astype(np.int64)


def shifted(x: Array, mul: Array, add: Array, div: int, levels: int, signed: int) -> Array:
    """What RequantShift computes, in 64 bits."""
    low = -(levels // 2) * signed
    wide = x.astype(np.int64) * mul.astype(np.int64) + add.astype(np.int64)
    return np.clip((wide + div // 2) // div, low, levels - 1 + low)


@pytest.mark.parametrize("opset", [10, 13, 17])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("name", ["n_levels", "n_levels_out"])
@pytest.mark.parametrize("domain", ["", "PACTOps", "ai.onnx.contrib"])
def test_requant_shift(domain: str, name: str, signed: int, opset: int) -> None:
    x = bytes_of(1, *SHAPE) * 100
    weights = {"m": bytes_of(2, 3, 1), "a": bytes_of(3, 3, 1) * 50}
    attributes = {"div": number(256), name: number(256, 1), "signed": number(signed, 1)}
    shift = node("RequantShift", "x m a", domain=domain, **attributes)
    found = computed([shift], weights, x, opset)
    np.testing.assert_array_equal(found, shifted(x, weights["m"], weights["a"], 256, 256, signed))


def test_hardswish_and_gelu() -> None:
    x = np.arange(-128, 128, dtype=np.float32)
    wide = x.astype(np.int64)
    swish = computed([node("iHardswish", "x", three=30, six=60, one_over_six=3)], {}, x)
    np.testing.assert_array_equal(swish, wide * 3 * np.clip(wide + 30, 0, 60))
    gelu = computed([node("iGELU", "x", b=-40, one=1743)], {}, x)
    left = 1743 - (np.minimum(abs(wide), 40) - 40) ** 2
    np.testing.assert_array_equal(gelu, wide * ((1743 + np.sign(wide) * left) >> 1))


def test_softmax() -> None:
    x = bytes_of(4, 4, 7)
    factors = {"coeffA": 1, "coeffB": 173, "coeffC": 15599, "log2": 127, "n_levels": 256}
    soft = node("iSoftmax", "x", **{name: number(value, 1) for name, value in factors.items()})
    below = (x - x.max(-1, keepdims=True)).astype(np.int64)
    turns = np.minimum(-below // 127, 31)
    powers = ((below + turns * 127 + 173) ** 2 + 15599) >> turns
    wanted = powers * 255 // powers.sum(-1, keepdims=True)
    np.testing.assert_array_equal(computed([soft], {}, x), wanted)


@pytest.mark.parametrize("centred", [False, True])
def test_norms(centred: bool) -> None:
    x, weights = bytes_of(5, 3, 16), {"w": bytes_of(6, 16) * 300, "b": bytes_of(7, 16) * 90}
    wide, w = x.astype(np.int64), weights["w"].astype(np.int64)
    mean = (wide.sum(-1, keepdims=True) / 16).astype(np.int64) * centred
    root = np.floor(np.sqrt(((wide - mean) ** 2).sum(-1, keepdims=True) // 16 + 1))
    scaled = ((wide - mean) * w / root).astype(np.int64)
    if centred:
        wanted = (scaled + weights["b"].astype(np.int64)) // 256
        norm = node("iLayerNorm", "x w b", D=number(256, 1), n_levels=number(256, 1))
    else:
        wanted, norm = scaled // 256, node("iRMSNorm", "x w", D=256, n_levels=256)
        del weights["b"]
    np.testing.assert_array_equal(computed([norm], weights, x), np.clip(wanted, -128, 127))


def test_functions_of_real_and_whole_numbers() -> None:
    x, wide = bytes_of(8, 2, 6), bytes_of(8, 2, 6).astype(np.int64)
    divided = node("TrueIntegerDiv", "x", Delta=16384, eps=1, eta=200000, y=2)
    wanted = 16384 * 200000 * wide // 400001
    np.testing.assert_array_equal(computed([divided], {}, x), wanted)
    norm = node("RMSNorm", "x w", eps=1e-6)
    plain = node("RMSNorm", "x w")
    for each in (norm, plain):
        found = computed([each], {"w": np.full(6, 1000, np.float32)}, x)
        exact = x / np.sqrt((x * x).mean(-1, keepdims=True)) * 1000
        assert np.abs(found - exact).max() <= 1


def test_every_function_is_tested() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{function.name}"' in text for function in built_in())


TABLE = """\
# a user's operator
<domain: "mine", opset_import: ["" : 17]>
Halved <by> (x) => (y)
{
  factor = Constant <value: tensor = @by> ()
  y = Div (x, factor)
}
"""


def own(folder: Path) -> tuple[Path, ModelProto]:
    """A model with an operator of a user."""
    halved = helper.make_node("Halved", ["x"], ["y"], "mine", domain="mine", by=2.0)
    path = folder / "net.onnx"
    proto = model([halved], {"x": SHAPE})
    path.write_bytes(proto.SerializeToString())
    return path, proto


def test_a_table_of_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = own(tmp_path)
    command = [str(path), "--target", "host", "-o", str(tmp_path / "out")]
    assert compile.main(command) == 1
    assert "'mine' (mine.Halved): the operator is not supported" in capsys.readouterr().err
    (tmp_path / "table.txt").write_text(TABLE)
    assert compile.main([*command, "--functions", str(tmp_path / "table.txt"), "--verify"]) == 0
    assert "agrees with onnxruntime" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Halved (x) => (y) { y = Neg (x) }", "does not start with"),
        ("<domain: 7>\n", "a table of functions: "),
        (TABLE.replace("@by", "by"), "a table of functions: "),
        (TABLE.replace("Div", "Halved"), "(Halved): the operator is not supported"),
        (TABLE.replace("(x, factor)", "(x, missing)"), "reads 'missing"),
        (None, "cannot be read"),
        ("\0\xff", "does not start with"),
    ],
)
def test_bad_tables(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = own(tmp_path)
    if text is not None:
        (tmp_path / "table.txt").write_text(text, encoding="utf-8")
    command = [str(path), "--target", "host", "-o", str(tmp_path / "out")]
    assert compile.main([*command, "--functions", str(tmp_path / "table.txt")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
