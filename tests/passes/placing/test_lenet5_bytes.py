"""The passes give LeNet-5 the arena of paper 002, sections 3.1 and 3.2."""

from __future__ import annotations

import pytest

from helpers.pipeline import arena_bytes, context, parse, run_passes

FUSE = "npu-fuse-conv-relu-pool,"
PLAN = "npu-bufferize,npu-assign-sram-offsets{strategy=%s}"


def lenet5() -> str:
    """LeNet-5 as in the paper: 32x32 input, two convolutions, three fully connected layers."""
    lines: list[str] = []
    current, shape = "input", "1x1x32x32xf32"

    def layer(op: str, shapes: dict[str, str], clauses: str, result: str) -> None:
        nonlocal current, shape
        name = f"v{len(lines)}"
        for parameter, kind in shapes.items():
            lines.append(f"%{name}_{parameter} = arith.constant dense<0.5> : tensor<{kind}>")
        operands = ", ".join((f"%{current}", *(f"%{name}_{parameter}" for parameter in shapes)))
        types = ", ".join(f"tensor<{kind}>" for kind in (shape, *shapes.values()))
        types = f"({types})" if shapes else types
        lines.append(f"%{name} = npu.{op} {operands} {clauses} : {types} -> tensor<{result}>")
        current, shape = name, result

    for filters, channels, size in ((6, 1, 28), (16, 6, 10)):
        weights = {"w": f"{filters}x{channels}x5x5xf32", "b": f"{filters}xf32"}
        conv = f"1x{filters}x{size}x{size}xf32"
        layer("conv2d", weights, "strides [1, 1] pads [0, 0, 0, 0]", conv)
        layer("relu", {}, "", conv)
        pooled = f"1x{filters}x{size // 2}x{size // 2}xf32"
        layer("max_pool2d", {}, "kernel [2, 2] strides [2, 2]", pooled)
    layer("reshape", {}, "", "1x400xf32")
    for outputs, inputs in ((120, 400), (84, 120), (10, 84)):
        weights = {"w": f"{outputs}x{inputs}xf32", "b": f"{outputs}xf32"}
        layer("fully_connected", weights, "", f"1x{outputs}xf32")
        if outputs != 10:
            layer("relu", {}, "", f"1x{outputs}xf32")
    body = "\n  ".join((*lines, f"func.return %{current} : tensor<{shape}>"))
    return f"func.func @lenet5(%input: tensor<1x1x32x32xf32>) -> tensor<{shape}> {{\n  {body}\n}}\n"


@pytest.mark.parametrize(
    ("pipeline", "elements"),
    [
        (PLAN % "none", 9118),
        (FUSE + PLAN % "none", 2814),
        (FUSE + PLAN % "ping-pong", 1024 + 1176),
        (FUSE + PLAN % "greedy", 2200),
        (PLAN % "greedy", 4704 + 1176),
    ],
)
def test_arena(pipeline: str, elements: int) -> None:
    ctx = context()
    assert arena_bytes(run_passes(ctx, parse(ctx, lenet5()), pipeline)) == 4 * elements


def test_weights_on_chip_are_counted() -> None:
    """Weights and bias of the second convolution live together with its input and output."""
    ctx = context()
    plan = "npu-bufferize,npu-place-weights{bytes=10288},npu-assign-sram-offsets"
    module = run_passes(ctx, parse(ctx, lenet5()), FUSE + plan)
    assert arena_bytes(module) == 4 * max(1176 + 400 + 2416, 1024 + 1176 + 156)
