"""`npu-share-functions` on networks of repeated layers: the same numbers from less code."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f32, i8
from xdsl.dialects.func import CallOp, FuncOp

from helpers.c_harness import run_c
from helpers.pipeline import context, parse, run_passes
from helpers.quantized.random_layers import LayerMaker
from npu_dialect.interpreters import run_function
from npu_dialect.npu import ActivationAttr, Conv2dOp, RequantizeAttr
from npu_dialect.npu.epilogue import Epilogue
from npu_passes.emit.c import emit
from npu_tools.compiling.check import random_inputs

LAYERS = 4
LOOPS = "npu-bufferize,npu-assign-sram-offsets,npu-outline-layers,npu-lower-to-loops"


OVERLAPPING = """
"memref.global"() <{sym_name = "w1", sym_visibility = "private", type = memref<4xf32>,
    initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w2", sym_visibility = "private", type = memref<4xf32>,
    initial_value = dense<2.0> : tensor<4xf32>, constant}> : () -> ()
func.func @f(%x: memref<4xf32, #npu.sram> {sram.input, sram.offset = 0 : i64},
    %y: memref<4xf32, #npu.sram> {sram.output, sram.offset = 32 : i64})
    attributes {sram.arena = 48 : i64} {
  %b = sram.alloc at 8 : memref<4xf32, #npu.sram>
  func.call @one(%x, %y) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.call @two(%x, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
""" + "".join(
    f"""
func.func private @{name}(%out: memref<4xf32, #npu.sram>, %in: memref<4xf32, #npu.sram>) {{
  %w = memref.get_global @{weights} : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c4 step %c1 {{
    %0 = memref.load %in[%i] : memref<4xf32, #npu.sram>
    %1 = memref.load %w[%i] : memref<4xf32>
    %2 = arith.mulf %0, %1 : f32
    memref.store %2, %out[%i] : memref<4xf32, #npu.sram>
  }}
  func.return
}}
"""
    for name, weights in (("one", "w1"), ("two", "w2"))
)
"""Two functions with the same code. The buffers of the first call lie apart, the others overlap."""


def quantized(*, point: int) -> ModuleOp:
    """Convolutions of one shape, whose zero points are `point` apart."""
    maker = LayerMaker(1)
    value = maker.argument(i8, (1, 4, 5, 5))
    for index in range(LAYERS):
        weight = maker.constant(maker.numbers.integers(-128, 128, (4, 4, 3, 3)), i8)
        layer = Conv2dOp(
            value,
            weight,
            None,
            TensorType(i8, []),
            pads=(1, 1, 1, 1),
            zero_points=(5, 0),
            epilogue=Epilogue(
                RequantizeAttr.of([0.002 + 0.001 * index], 3 + point * (index == LAYERS - 1))
            ),
        )
        value = maker.add(layer, i8)
    return maker.finished(value)


def floats() -> ModuleOp:
    """A chain of depthwise convolutions of one shape, in alternating buffers."""
    maker = LayerMaker(2)
    value = maker.argument(f32, (1, 3, 6, 6))
    for _ in range(LAYERS):
        weight = maker.constant(maker.numbers.standard_normal((3, 1, 3, 3)), f32)
        bias = maker.constant(maker.numbers.standard_normal(3), f32)
        layer = Conv2dOp(
            value,
            weight,
            bias,
            TensorType(f32, []),
            pads=(1, 1, 1, 1),
            groups=3,
            epilogue=Epilogue(activation=ActivationAttr.relu()),
        )
        value = maker.add(layer, f32)
    return maker.finished(value)


def loops(module: ModuleOp, target: str) -> ModuleOp:
    """A function for each layer, in loops."""
    module.verify()
    return run_passes(context(), module, f"npu-attach-target{{target={target}}},{LOOPS}")


def shared(module: ModuleOp, options: str = "") -> ModuleOp:
    """Run npu-share-functions on a copy of a module."""
    return run_passes(context(), module, f"npu-share-functions{options}")


def functions(module: ModuleOp) -> list[str]:
    """The names of the functions."""
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


NETWORKS = {"bytes": quantized(point=0), "zero points": quantized(point=7), "floats": floats()}


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
@pytest.mark.parametrize("network", NETWORKS)
def test_same_numbers(network: str, target: str) -> None:
    apart = loops(NETWORKS[network], target)
    together = shared(apart)
    assert len(functions(apart)) == 1 + LAYERS
    assert len(functions(together)) == 2
    feeds = random_inputs(NETWORKS[network], 0)
    wanted = run_function(apart, None, feeds)[0]
    np.testing.assert_array_equal(run_function(together, None, feeds)[0], wanted)
    assert len(np.unique(wanted)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["c", "bin"])
@pytest.mark.parametrize("network", NETWORKS)
def test_same_numbers_in_c(network: str, weights: Literal["c", "bin"]) -> None:
    module = shared(loops(NETWORKS[network], "cortex-m4"))
    feeds = random_inputs(NETWORKS[network], 0)
    wanted = run_function(module, None, feeds)[0]
    files = emit(module, None, weights)
    (got,) = run_c(files, "f", feeds, [wanted.shape], output_types=[wanted.dtype.name])
    np.testing.assert_array_equal(got, wanted)


def test_numbers_that_differ_too_often() -> None:
    apart = loops(NETWORKS["zero points"], "host")
    assert functions(shared(apart, "{scalars=1}")) == ["f", "conv2d", "conv2d_3"]


def test_layers_keep_their_names() -> None:
    apart = loops(NETWORKS["bytes"], "host")
    for index, op in enumerate(op for op in apart.walk() if isinstance(op, CallOp)):
        op.attributes["npu.layer"] = StringAttr(f"layer{index}")
    source = emit(shared(apart)).source
    for index in range(LAYERS):
        assert f'F_ON_LAYER({index}, "layer{index}");' in source
    assert source.count("static void") + source.count("static NPU_NOINLINE void") == 1


def test_pointers_are_restricted_only_if_no_call_overlaps() -> None:
    source = emit(shared(parse(context(), OVERLAPPING))).source
    assert "in, const float *NPU_RESTRICT w)" in " ".join(source.split())
    assert source.count("*NPU_RESTRICT") == 1


@pytest.mark.slow
def test_deterministic() -> None:
    texts = {str(shared(loops(NETWORKS["zero points"].clone(), "host"))) for _ in range(2)}
    assert len(texts) == 1
