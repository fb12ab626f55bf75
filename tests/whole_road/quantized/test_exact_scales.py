"""Scales that are exact multipliers round as the specification of TOSA says, in IR and in C."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.interpreters.quantized import averaged, quantized_sum, requantized
from npu_dialect.npu.quantization import Multiplier
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.verifying.harness import built
from npu_tools.verifying.verify import verify

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")


def apply_scale_32(value: int, multiplier: int, shift: int, *, double: bool) -> int:
    """The function of this name of the specification of TOSA, in whole numbers."""
    assert 0 <= multiplier < 2**31
    assert 2 <= shift <= 62
    around = 1 << (shift - 1)
    if double and shift > 31:
        around += (1 << 30) if value >= 0 else -(1 << 30)
    result = (value * multiplier + around) >> shift
    return result


def reciprocal_scale(count: int) -> tuple[int, int]:
    """The multiplier and the shift of this function of the specification."""
    zeros = 32 - (count - 1).bit_length()
    k = 32 - zeros
    return (((1 << 30) + 1) << k) // count, 30 + k


NUMBERS = st.integers(-(2**31), 2**31 - 1) | st.integers(-300, 300)


@given(
    st.lists(NUMBERS, min_size=1, max_size=9),
    st.integers(2**30, 2**31 - 1) | st.sampled_from([2**30, 2**30 + 2**29]),
    st.integers(2, 62),
    st.integers(-128, 127),
    st.booleans(),
)
def test_rescale(values: list[int], multiplier: int, shift: int, point: int, double: bool) -> None:
    scale = Multiplier(multiplier, shift).number
    assert Multiplier.of(scale) == Multiplier(multiplier, shift)
    mode = "double_round" if double else "half_up"
    got = requantized(np.array(values, np.int64), [scale], point, (-128, 127), mode)
    scaled = [apply_scale_32(value, multiplier, shift, double=double) for value in values]
    assert got.tolist() == [min(max(value + point, -128), 127) for value in scaled]


FACTORS = st.tuples(st.integers(2**30, 2**31 - 1) | st.just(2**30), st.integers(8, 40))
"""Multipliers and shifts with which the sum of two maps of bytes fits into i32."""


@given(
    st.lists(st.tuples(*[st.integers(-128, 127)] * 2), min_size=1, max_size=9),
    st.tuples(FACTORS, FACTORS, st.tuples(st.integers(2**30, 2**31 - 1), st.integers(2, 62))),
    st.tuples(*[st.integers(-128, 127)] * 3),
    st.booleans(),
)
def test_sum(
    values: list[tuple[int, int]],
    factors: tuple[tuple[int, int], ...],
    points: tuple[int, int, int],
    double: bool,
) -> None:
    lhs, rhs = (np.array(each, np.int8) for each in zip(*values, strict=True))
    scales = [Multiplier(*each).number for each in factors]
    mode = "double_round" if double else "half_up"
    got = quantized_sum(lhs, rhs, scales, points, (-128, 127), mode)
    want: list[int] = []
    for pair in values:
        terms = zip(pair, points, factors, strict=False)
        total = sum(apply_scale_32(q - z, *scale, double=double) for q, z, scale in terms)
        whole = apply_scale_32(total, *factors[2], double=double) + points[2]
        want.append(min(max(whole, -128), 127))
    assert got.tolist() == want


@settings(max_examples=30)
@given(st.integers(1, 400))
def test_average(count: int) -> None:
    found = Multiplier.reciprocal(count)
    assert (found.value, found.shift) == reciprocal_scale(count)
    assert Multiplier.of(found.number) == found
    sums = np.array(range(-255 * count, 255 * count + 1, max(1, count // 7)), np.int64)
    counts = np.full(sums.shape, count)
    got = averaged(sums, counts, {count: found}, 0, (-(2**31), 2**31 - 1), "half_up")
    want = [apply_scale_32(int(each), found.value, found.shift, double=False) for each in sums]
    assert got.tolist() == want


def program(seed: int, mode: str) -> str:
    """A convolution, an average and a change of scale with random multipliers."""
    random = Random(seed)
    shifts = [random.choice((31, 33, 36, 38)) for _ in range(5)]
    multipliers = [random.randrange(2**30, 2**31) | 1 for _ in shifts]
    whole = f"dense<{[[[[random.randrange(-9, 9) for _ in range(2)]] * 2] * 3 for _ in range(5)]}>"
    rounding = "true" if mode == "double_round" else "false"
    scaling = f"double_round = {rounding}, input_zp = 0 : i32, scale32 = true"
    lists = (
        f"multiplier = array<i32: {', '.join(map(str, multipliers))}>, "
        f"shift = array<i8: {', '.join(map(str, shifts))}>, per_channel = true"
    )
    one = (
        f"multiplier = array<i32: {multipliers[0]}>, shift = array<i8: 32>, per_channel = false, "
        "output_zp = 3 : i32"
    )
    slides = "dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 0>, stride = array<i64: 1, 1>"
    window = (
        "acc_type = i32, kernel = array<i64: 2, 3>, pad = array<i64: 1, 0, 1, 1>, "
        "stride = array<i64: 1, 2>, "
        "quantization_info = #tosa.unary_quant<input_zp = -5, output_zp = 7>"
    )
    sums, maps = "tensor<1x6x7x5xi32>", "tensor<1x6x7x5xi8>"
    return f"""\
func.func @main(%x: tensor<1x6x8x2xi8>) -> tensor<1x6x4x5xi8> {{
  %w = "tosa.const"() <{{value = {whole} : tensor<5x3x2x2xi8>}}> : () -> tensor<5x3x2x2xi8>
  %b = "tosa.const"() <{{value = dense<[9, -90, 30, 0, 1]> : tensor<5xi32>}}> : () -> tensor<5xi32>
  %c = tosa.conv2d %x, %w, %b {{{slides}, quantization_info = #tosa.conv_quant<input_zp = 4, \
weight_zp = 0>}} : (tensor<1x6x8x2xi8>, tensor<5x3x2x2xi8>, tensor<5xi32>) -> {sums}
  %q = tosa.rescale %c {{{scaling}, {lists}, output_zp = -5 : i32}} : ({sums}) -> {maps}
  %a = tosa.avg_pool2d %q {{{window}}} : ({maps}) -> tensor<1x6x4x5xi8>
  %r = tosa.rescale %a {{{scaling}, {one}}} : (tensor<1x6x4x5xi8>) -> tensor<1x6x4x5xi8>
  return %r : tensor<1x6x4x5xi8>
}}
"""


RESIDUAL = """\
func.func @main(%x: tensor<1x4x4x3xi8>, %y: tensor<1x4x4x3xi8>) -> tensor<1x4x4x3xi8> {
  %a = tosa.rescale %x {double_round = DOUBLE, input_zp = -3 : i32, multiplier = \
array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, \
shift = array<i8: 10>} : (tensor<1x4x4x3xi8>) -> tensor<1x4x4x3xi32>
  %b = tosa.rescale %y {double_round = DOUBLE, input_zp = 5 : i32, multiplier = \
array<i32: 1503238553>, output_zp = 0 : i32, per_channel = false, scale32 = true, \
shift = array<i8: 12>} : (tensor<1x4x4x3xi8>) -> tensor<1x4x4x3xi32>
  %s = tosa.add %a, %b : (tensor<1x4x4x3xi32>, tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
  %q = tosa.rescale %s {double_round = DOUBLE, input_zp = 0 : i32, multiplier = \
array<i32: 1932735283>, output_zp = 7 : i32, per_channel = false, scale32 = true, \
shift = array<i8: 51>} : (tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi8>
  return %q : tensor<1x4x4x3xi8>
}
"""


def sum_of(x: int, y: int, *, double: bool) -> int:
    """An element of the result of `RESIDUAL`, by the specification."""
    a = apply_scale_32(x + 3, 1073741824, 10, double=double)
    b = apply_scale_32(y - 5, 1503238553, 12, double=double)
    return min(max(apply_scale_32(a + b, 1932735283, 51, double=double) + 7, -128), 127)


@needs_compiler
@pytest.mark.parametrize("double", [False, True])
def test_sum_of_two_maps(tmp_path: Path, *, double: bool) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(RESIDUAL.replace("DOUBLE", str(double).lower()), encoding="utf-8")
    compiled = compile_model(Job(path, "host", prefix="net"))
    generator = np.random.default_rng(1)
    x, y = (generator.integers(-128, 128, (60, 4, 4, 3)).astype(np.float32) for _ in range(2))
    with built(compiled.name, compiled.files, compiled.report) as harness:
        (got,) = harness.run([x[:, None], y[:, None]])
    pairs = zip(x.reshape(-1), y.reshape(-1), strict=True)
    want = [sum_of(int(one), int(two), double=double) for one, two in pairs]
    assert got.reshape(-1).tolist() == want
    inputs = tmp_path / "x.npz"
    np.savez(inputs, x=x, y=y)
    assert verify(compiled, str(inputs), 0).agrees


BLOCK = """\
func.func @main(%x: tensor<1x5x6x4xi8>) -> tensor<1x5x6x4xi8> {
  %w = "tosa.const"() <{value = dense<WEIGHTS> : tensor<4x1x1x4xi8>}> : () -> tensor<4x1x1x4xi8>
  %z = "tosa.const"() <{value = dense<[99, -9, 0, 5]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %c = tosa.conv2d %x, %w, %z {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, \
stride = array<i64: 1, 1>, quantization_info = #tosa.conv_quant<input_zp = 4, weight_zp = 0>} : \
(tensor<1x5x6x4xi8>, tensor<4x1x1x4xi8>, tensor<4xi32>) -> tensor<1x5x6x4xi32>
  %y = tosa.rescale %c {double_round = DOUBLE, input_zp = 0 : i32, multiplier = \
array<i32: 1503238553>, output_zp = 5 : i32, per_channel = false, scale32 = true, \
shift = array<i8: 36>} : (tensor<1x5x6x4xi32>) -> tensor<1x5x6x4xi8>
"""
"""What stands in front of the sum of a residual block."""


@needs_compiler
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("target", ["host", "cortex-m4", "fe310"])
def test_residual_block(tmp_path: Path, target: str, *, double: bool) -> None:
    """The sum is part of the convolution before it, in C as in the interpreter."""
    weights = np.random.default_rng(7).integers(-9, 10, (4, 1, 1, 4)).tolist()
    _, behind = RESIDUAL.replace("1x4x4x3", "1x5x6x4").split("\n", 1)
    text = (BLOCK + behind).replace("DOUBLE", str(double).lower())
    path, dumps = tmp_path / "net.mlir", tmp_path / "dump"
    path.write_text(text.replace("WEIGHTS", str(weights)), encoding="utf-8")
    compiled = compile_model(Job(path, target, prefix="net", dump_ir=dumps))
    (fused,) = dumps.glob("*-npu-fuse-additions.mlir")
    mode = "double_round" if double else "half_up"
    (layer,) = (line for line in fused.read_text().splitlines() if "npu.conv2d" in line)
    assert "then add residual first" in layer
    assert f"zero_points [-3, 5, 7] mode {mode}" in layer
    inputs = tmp_path / "x.npz"
    np.savez(inputs, x=np.random.default_rng(3).integers(-128, 128, (40, 5, 6, 4)))
    result = verify(compiled, str(inputs), 0)
    assert result.agrees
    assert result.outputs[0].absolute == 0


@needs_compiler
@pytest.mark.parametrize("mode", ["half_up", "double_round"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_emitted_c(seed: int, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(program(seed, mode), encoding="utf-8")
    for target in ("host", "cortex-m4") if seed else ("cortex-m4",):
        compiled = compile_model(Job(path, target, prefix="net", requantize="fixed"))
        inputs = tmp_path / "x.npz"
        values = np.random.default_rng(seed).integers(-128, 128, (40, 6, 8, 2))
        np.savez(inputs, x=values)
        result = verify(compiled, str(inputs), 0)
        assert result.agrees
        assert result.outputs[0].absolute == 0
