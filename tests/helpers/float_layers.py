"""Random convolutions of float32 on buffers, whose weights are constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ORDERS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1))
"""Orders of the axes in memory: the model's, row by row, and pixel by pixel."""
ACTIVATIONS = ("", "", " then relu", " then clamp [-4.0, 5.0]")


def buffer(
    random: Random, shape: tuple[int, ...], orders: Sequence[tuple[int, ...]] = ORDERS
) -> str:
    """The type of a map in one of some layouts, at times with gaps."""
    order, gap = random.choice(orders), random.choice((0, 0, 1))
    steps, pitch = [0] * 4, 1
    for axis in reversed(order):
        steps[axis], pitch = pitch, pitch * (shape[axis] + (gap if axis else 0))
    return f"memref<{'x'.join(map(str, shape))}xf32, strided<{steps}>, #npu.sram>"


def dense(values: Array) -> str:
    """The type of a constant."""
    return f"memref<{'x'.join(map(str, values.shape))}xf32, #npu.flash>"


def constant(name: str, values: Array) -> str:
    """The definition of a constant."""
    shape = "x".join(map(str, values.shape))
    text = str(values.astype(float).tolist())
    return (
        f'"memref.global"() <{{sym_name = "{name}", sym_visibility = "private", type = '
        f"{dense(values)}, initial_value = dense<{text}> : tensor<{shape}xf32>, constant}}> "
        ": () -> ()\n"
    )


@dataclass
class FloatConv:
    """A random convolution; with `exact`, all numbers are small integers, so no sum is rounded."""

    random: Random
    exact: bool = True
    depthwise: bool = False
    orders: Sequence[tuple[int, ...]] = ORDERS
    most: int = 5
    """The most taps along an axis."""
    filters: int = 1
    """Filters of each channel of a depthwise convolution."""
    inside: bool = False
    """Whether there is no padding, one group, and no pool or one with small windows; wide rows."""
    name: str = "f"
    inputs: list[Array] = field(default_factory=list[Array])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])

    def numbers(self, *shape: int) -> Array:
        """Random numbers."""
        if self.exact:
            found = [self.random.randint(-3, 3) for _ in range(prod(shape))]
        else:
            found = [self.random.gauss(0, 1) for _ in range(prod(shape))]
        return np.array(found, np.float32).reshape(shape)

    def axis(self, kernel: int) -> tuple[int, int, int, int, int, int]:
        """Size, stride, pads, dilation and the number of outputs along an axis."""
        random = self.random
        dilation, stride = random.choice((1, 1, 1, 2)), random.choice((1, 1, 2, 3))
        reach = (kernel - 1) * dilation + 1
        before, after = (random.choice((0, min(1, reach - 1), reach // 2)) for _ in range(2))
        if self.inside:
            before, after = 0, 0
        size = max(1, reach - before - after) + random.randint(0, 9)
        size += random.randint(0, 20) * self.inside
        return size, stride, before, after, dilation, (size + before + after - reach) // stride + 1

    def pool(self, rows: int, columns: int) -> tuple[str, int, int]:
        """A pooling window, or none, and the rows and columns of its output."""
        height, width = (
            min(rows, self.random.randint(1, 3)),
            min(columns, self.random.randint(1, 2 if self.inside else 9)),
        )
        if self.depthwise or self.random.random() < 0.5:
            return "", rows, columns
        strides = self.random.choice(((height, width), (1, 2)))
        kind = self.random.choice(("max", "max", "avg"))
        recompute = " overlap recompute" if strides != (height, width) else ""
        if strides != (height, width) and strides[0] >= height and strides[1] >= width:
            recompute = ""
        text = f" then {kind}_pool [{height}, {width}] by {list(strides)}{recompute}"
        return text, (rows - height) // strides[0] + 1, (columns - width) // strides[1] + 1

    def text(self, *, on_tensors: bool = False) -> str:
        """The module; `inputs` become the arrays of its arguments, the last one is the output.

        On tensors the output is a result, and maps have no layout.
        """
        random = self.random
        kernel = random.randint(1, 4), random.choice((1, 2, 3, 5))
        kernel = min(kernel[0], self.most), min(kernel[1], self.most)
        ys, xs = self.axis(kernel[0]), self.axis(kernel[1])
        groups = random.randint(2, 11) if self.depthwise else random.choice((1, 1, 1, 2))
        groups = 1 if self.inside else groups
        depth = 1 if self.depthwise else random.randint(1, 7)
        filters = groups * (self.filters if self.depthwise else random.randint(2, 13))
        pool, rows, columns = self.pool(ys[-1], xs[-1])
        images = random.choice((1, 1, 2))
        shape = (images, groups * depth, ys[0], xs[0])
        orders = self.orders
        x, y = (
            buffer(random, shape, orders),
            buffer(random, (images, filters, rows, columns), orders),
        )
        weights = self.numbers(filters, depth, *kernel)
        self.constants = {"w": weights}
        ins, types = ["%x", "%w"], [x, dense(weights)]
        arguments, globals_ = [f"%x: {x}"], constant("w", weights)
        loads = f"%w = memref.get_global @w : {types[1]}\n"
        self.inputs = [self.numbers(*shape)]
        if random.random() < 0.7:
            bias = self.constants["b"] = self.numbers(filters)
            globals_ += constant("b", bias)
            ins, types = [*ins, "%b"], [*types, dense(bias)]
            loads += f"%b = memref.get_global @b : {types[-1]}\n"
        tail = random.choice(ACTIVATIONS) + pool
        if not pool and random.random() < 0.4:
            other = buffer(random, (images, filters, rows, columns), orders)
            ins, types = [*ins, "%r"], [*types, other]
            arguments.append(f"%r: {other}")
            self.inputs.append(self.numbers(images, filters, rows, columns))
            tail += f" then add residual {random.choice(('first', 'second'))}"
            tail += random.choice(ACTIVATIONS)
        self.inputs.append(np.zeros((images, filters, rows, columns), np.float32))
        window = (
            f"strides {[ys[1], xs[1]]} pads {[ys[2], xs[2], ys[3], xs[3]]} "
            f"dilations {[ys[4], xs[4]]} groups {groups}"
        )
        if on_tensors:
            out = f"tensor<{images}x{filters}x{rows}x{columns}xf32>"
            return self.text_on_tensors(ins, types, f"{window}{tail}", out)
        return (
            f"{globals_}func.func @{self.name}({', '.join([*arguments, f'%y: {y}'])}) {{\n{loads}"
            f"npu.conv2d ins({', '.join(ins)} : {', '.join(types)}) outs(%y : {y}) "
            f"{window}{tail}\nfunc.return\n}}\n"
        )

    def text_on_tensors(self, ins: list[str], types: list[str], clauses: str, out: str) -> str:
        """The module on tensors: maps have no layout, and the output is a result."""
        self.inputs.pop()
        shapes = [kind.split("<")[1].split("f32")[0] for kind in types]
        shown = {name: f"tensor<{shape}f32>" for name, shape in zip(ins, shapes, strict=True)}
        loads = "".join(
            f"%{name} = arith.constant dense<{values.astype(float).tolist()}> : "
            f"{shown[f'%{name}']}\n"
            for name, values in self.constants.items()
        )
        given = ", ".join(f"{name}: {shown[name]}" for name in ins if name in ("%x", "%r"))
        return (
            f"func.func @{self.name}({given}) -> {out} {{\n{loads}"
            f"%y = npu.conv2d {', '.join(ins)} {clauses} : "
            f"({', '.join(shown.values())}) -> {out}\nfunc.return %y : {out}\n}}\n"
        )
