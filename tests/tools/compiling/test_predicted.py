"""`--instructions`: the prediction knows how many zeros the layers read."""

from __future__ import annotations

from pathlib import Path

from xdsl.utils.arg_spec import ArgSpec

from npu_tools.compiling.driver import Job, compile_model
from npu_tools.compiling.predicted import measuring_zeros

NETWORK = """
func.func @net(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w1 = arith.constant dense<0.1> : tensor<4x1x1x1xf32>
  %b1 = arith.constant dense<BIAS> : tensor<4xf32>
  %w2 = arith.constant dense<0.1> : tensor<4x4x1x1xf32>
  %b2 = arith.constant dense<0.5> : tensor<4xf32>
  %m = npu.conv2d %x, %w1, %b1 strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "first"}
    : (tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = npu.relu %m : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %y = npu.conv2d %r, %w2, %b2 strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "second"}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  func.return %y : tensor<1x4x8x8xf32>
}
"""


def predicted(folder: Path, bias: str, target: str) -> tuple[int, ...]:
    """The predicted instructions of the layers of a network whose first layer has this bias."""
    model = folder / "net.mlir"
    model.write_text(NETWORK.replace("BIAS", bias), encoding="utf-8")
    found = compile_model(Job(model, target, prefix="net", instructions=True)).report.instructions
    assert found is not None
    return found.layers


def test_a_layer_behind_dead_channels_takes_fewer_instructions_without_an_fpu(
    tmp_path: Path,
) -> None:
    alive, dead = (predicted(tmp_path, bias, "fe310") for bias in ("9.0", "-9.0"))
    assert dead[0] == alive[0]
    assert 0.5 < dead[1] / alive[1] < 0.9


def test_with_an_fpu_zeros_change_nothing(tmp_path: Path) -> None:
    alive, dead = (predicted(tmp_path, bias, "cortex-m4") for bias in ("9.0", "-9.0"))
    assert dead == alive


def test_zeros_are_measured_while_layers_are_functions() -> None:
    specs = [ArgSpec(name, {}) for name in ("npu-outline-layers", "npu-lower-to-loops")]
    names = [spec.name for spec in measuring_zeros(specs)]
    assert names == ["npu-outline-layers", "npu-measure-zeros", "npu-lower-to-loops"]
    assert measuring_zeros(specs[1:]) == specs[1:]
