"""Layers that read one map off the chip: convolutions and pools of any windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import DTypeLike
from xdsl.dialects.builtin import ModuleOp

from helpers.parsing import parse

Shape = tuple[int, ...]
Behind = Literal["", "result", "map"]
Element = Literal["f32", "i8"]


@dataclass(frozen=True)
class LayerOfMap:
    """A layer: a convolution or a pool. `out`: its output channels, those of the map for a pool.

    `pads`: in front of rows and columns, and behind them. `pool`: the size of a pool in the layer,
    if not 1. `residual`: whether a map off the chip is added. `on_chip`: where its result lies.
    `kernel_on_chip`: whether its kernels are copied there, for it alone. `behind`: an op on its
    result, or on the map that all read, stands behind it, in front of the next layer.
    """

    kind: str
    out: int
    kernel: int = 1
    stride: int = 1
    pads: tuple[int, int] = (0, 0)
    groups: int = 1
    pool: int = 1
    bias: bool = False
    residual: bool = False
    on_chip: bool = True
    kernel_on_chip: bool = False
    behind: Behind = ""


@dataclass(frozen=True)
class Readers:
    """A map of this shape, and what reads it. `relu`: whether there is one between the two.

    `element`: the type of an element.
    """

    source: Shape
    layers: tuple[LayerOfMap, ...]
    relu: bool = False
    element: Element = "f32"

    @property
    def arguments(self) -> dict[str, Shape]:
        """The arguments of the function, with their shapes: the map, parameters, results."""
        found: dict[str, Shape] = {"x": self.source}
        for place, layer in enumerate(self.layers):
            if layer.kind == "conv2d":
                depth = self.source[1] // layer.groups
                found[f"w{place}"] = (layer.out, depth, layer.kernel, layer.kernel)
            if layer.bias:
                found[f"b{place}"] = (layer.out,)
            if layer.residual:
                found[f"r{place}"] = self.output(layer)
        return {
            **found,
            **{f"z{place}": self.output(each) for place, each in enumerate(self.layers)},
        }

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the arguments."""
        return list(self.arguments.values())

    @property
    def kind(self) -> DTypeLike:
        """The type of an element in numpy."""
        return np.float32 if self.element == "f32" else np.int8

    @property
    def bytes(self) -> int:
        """The bytes of all of them."""
        return sum(map(self.size, self.shapes))

    def size(self, shape: Shape) -> int:
        """The bytes of a map."""
        return prod(shape) * (4 if self.element == "f32" else 1)

    def type(self, shape: Shape, space: str = "dram") -> str:
        """The type of a map."""
        return f"memref<{'x'.join(map(str, shape))}x{self.element}, #npu.{space}>"

    def output(self, layer: LayerOfMap) -> Shape:
        """The shape of the result of a layer."""
        sizes = (
            ((size + sum(layer.pads) - layer.kernel) // layer.stride + 1) // layer.pool
            for size in self.source[2:]
        )
        return self.source[0], layer.out, *sizes


@st.composite
def readers(draw: st.DrawFn) -> Readers:
    """Random layers of one map."""
    images, channels = draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 9))
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    element: Element = draw(st.sampled_from(["f32", "f32", "i8"]))
    kinds = ["conv2d", "conv2d", "max_pool2d", *(["avg_pool2d"] if element == "f32" else [])]
    layers = tuple(
        layer_of(draw, draw(st.sampled_from(kinds)), channels, rows, columns)
        for _ in range(draw(st.integers(2, 3)))
    )
    return Readers((images, channels, rows, columns), layers, draw(st.booleans()), element)


def layer_of(draw: st.DrawFn, kind: str, channels: int, rows: int, columns: int) -> LayerOfMap:
    """A random layer of such a map."""
    conv, kernel = kind == "conv2d", draw(st.integers(1, 5))
    least = kernel - min(rows, columns)
    before = draw(st.integers(max(0, least + 1) // 2, max(kernel // 2, (least + 1) // 2)))
    after = draw(st.integers(max(0, least - before), max(kernel // 2, least - before)))
    stride = draw(st.sampled_from([1, 1, 2, 3]))
    outputs = (min(rows, columns) + before + after - kernel) // stride + 1
    groups = draw(st.sampled_from([n for n in (1, 1, 2, 3, channels) if channels % n == 0]))
    residual = conv and draw(st.integers(0, 3)) == 0
    return LayerOfMap(
        kind=kind,
        out=groups * draw(st.integers(1, 9 // groups)) if conv else channels,
        kernel=kernel,
        stride=stride,
        pads=(before, after),
        groups=groups if conv else 1,
        pool=draw(st.integers(1, min(outputs, 2))) if conv and not residual else 1,
        bias=conv and draw(st.booleans()),
        residual=residual,
        on_chip=draw(st.booleans()),
        kernel_on_chip=conv and draw(st.integers(0, 3)) == 0,
        behind=draw(st.sampled_from(["", "", "result", "result", "map"])),
    )


def module_of(wanted: Readers) -> ModuleOp:
    """The layers in a function."""
    types = {name: wanted.type(shape) for name, shape in wanted.arguments.items()}
    lines, value = list[str](), "x"
    if wanted.relu:
        lines.append(f"%r = dram.alloc : {types['x']}")
        lines.append(f"npu.relu ins(%x : {types['x']}) outs(%r : {types['x']})")
        value = "r"
    copies: list[str] = []
    for place, layer in enumerate(wanted.layers):
        out, kind = f"z{place}", types[f"z{place}"]
        if layer.on_chip:
            out, kind = f"y{place}", wanted.type(wanted.output(layer), "sram")
            lines.append(f"%{out} = sram.alloc : {kind}")
            copies.append(copy(f"%{out}", kind, f"%z{place}", types[f"z{place}"]))
        lines += lines_of(wanted, place, value, f"%{out} : {kind}", types)
        if layer.behind == "result":
            lines.append(f"npu.relu ins(%{out} : {kind}) outs(%{out} : {kind})")
        if layer.behind == "map":
            lines.append(f"npu.relu ins(%{value} : {types['x']}) outs(%{value} : {types['x']})")
    signature = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
    body = "\n  ".join([*lines, *copies])
    return parse(f"func.func @f({signature}) {{\n  {body}\n  func.return\n}}\n")


def copy(source: str, from_type: str, target: str, to_type: str) -> str:
    """The text of a copy."""
    return f'"memref.copy"({source}, {target}) : ({from_type}, {to_type}) -> ()'


def lines_of(
    wanted: Readers, place: int, value: str, out: str, types: dict[str, str]
) -> Iterator[str]:
    """The text of one layer, and of the copy of its kernels."""
    layer, kernels = wanted.layers[place], f"w{place}"
    operands = {f"%{value}": types["x"]}
    if layer.kernel_on_chip:
        shape = wanted.arguments[kernels]
        operands[f"%k{place}"] = wanted.type(shape, "sram")
        yield f"%k{place} = sram.alloc : {operands[f'%k{place}']}"
        yield copy(f"%{kernels}", types[kernels], f"%k{place}", operands[f"%k{place}"])
    rest = (
        (f"b{place}", f"r{place}") if layer.kernel_on_chip else (kernels, f"b{place}", f"r{place}")
    )
    operands |= {f"%{name}": types[name] for name in rest if name in types}
    text = (
        f"npu.{layer.kind} ins({', '.join(operands)} : {', '.join(operands.values())}) outs({out})"
    )
    if layer.kind != "conv2d":
        text += f" kernel [{layer.kernel}, {layer.kernel}]"
    before, after = layer.pads
    text += f" strides [{layer.stride}, {layer.stride}] pads {[before, before, after, after]}"
    if layer.groups > 1:
        text += f" groups {layer.groups}"
    if layer.residual:
        text += " then add residual second"
    if layer.pool > 1:
        text += f" then max_pool [{layer.pool}, {layer.pool}] by [{layer.pool}, {layer.pool}]"
    yield text + f' {{npu.layer = "l{place}"}}'
