"""Layers whose maps lie off the chip: a relu, a depthwise convolution, and a 1x1 convolution."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.parsing import parse


@dataclass(frozen=True)
class Layers:
    """The sizes of the maps, and what the layers are.

    `relu`: whether there is one in front; `in_place`: over its input, which must not be read again.
    `kernel`: that of the depthwise convolution, 0 for none. `residual`: what is added behind the
    1x1 convolution: nothing, another map, or what its destination holds. `stride`: its stride.
    """

    channels: int
    rows: int
    columns: int
    out: int
    relu: bool = True
    in_place: bool = False
    kernel: int = 3
    dilation: int = 1
    residual: str = ""
    bias: bool = True
    stride: int = 1

    @property
    def source(self) -> tuple[int, ...]:
        """The shape of the maps in front of the 1x1 convolution."""
        return 1, self.channels, self.rows, self.columns

    @property
    def output(self) -> tuple[int, ...]:
        """The shape of its output."""
        rows, columns = (-(-each // self.stride) for each in (self.rows, self.columns))
        return 1, self.out, rows, columns

    @property
    def arguments(self) -> dict[str, tuple[int, ...]]:
        """The arguments of the function, with their shapes."""
        found: dict[str, tuple[int, ...]] = {"x": self.source}
        if self.kernel:
            found["k"] = (self.channels, 1, self.kernel, self.kernel)
            found["c"] = (self.channels,)
        found["w"] = (self.out, self.channels, 1, 1)
        if self.bias:
            found["b"] = (self.out,)
        if self.residual == "other":
            found["a"] = self.output
        return {**found, "z": self.output}

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the arguments."""
        return list(self.arguments.values())

    @property
    def bytes(self) -> int:
        """The bytes of all of them."""
        return 4 * sum(map(prod, self.shapes))


@st.composite
def layers(draw: st.DrawFn) -> Layers:
    """Random layers, some of which have nothing in front of the 1x1 convolution."""
    size = st.integers(1, 7)
    relu = draw(st.booleans())
    return Layers(
        channels=draw(st.integers(1, 9)),
        rows=draw(size),
        columns=draw(size),
        out=draw(st.integers(1, 9)),
        relu=relu,
        in_place=relu and draw(st.booleans()),
        kernel=draw(st.sampled_from([0, 1, 3, 5])),
        dilation=draw(st.integers(1, 2)),
        residual=draw(st.sampled_from(["", "other", "own"])),
        bias=draw(st.booleans()),
        stride=draw(st.sampled_from([1, 1, 2])),
    )


def map_of(shape: tuple[int, ...]) -> str:
    """The type of a map off the chip."""
    return f"memref<{'x'.join(map(str, shape))}xf32, #npu.dram>"


def module_of(wanted: Layers) -> ModuleOp:
    """The layers in a function."""
    types = {name: map_of(shape) for name, shape in wanted.arguments.items()}
    kind, lines, value = map_of(wanted.source), list[str](), "x"
    if wanted.relu:
        read = "r" if wanted.in_place else "x"
        lines.append(f"%r = dram.alloc : {kind}")
        if wanted.in_place:
            lines.append(f'"memref.copy"(%x, %r) : ({kind}, {kind}) -> ()')
        lines.append(f'npu.relu ins(%{read} : {kind}) outs(%r : {kind}) {{npu.layer = "relu"}}')
        value = "r"
    if wanted.kernel:
        pads = ", ".join([str(wanted.dilation * (wanted.kernel - 1) // 2)] * 4)
        lines.append(f"%y = dram.alloc : {kind}")
        lines.append(
            f"npu.conv2d ins(%{value}, %k, %c : {kind}, {types['k']}, {types['c']}) "
            f"outs(%y : {kind}) pads [{pads}] dilations [{wanted.dilation}, {wanted.dilation}] "
            f'groups {wanted.channels} {{npu.layer = "depthwise"}}'
        )
        value = "y"
    lines.append(pointwise(wanted, value, types))
    signature = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
    body = "\n  ".join(lines)
    return parse(f"func.func @f({signature}) {{\n  {body}\n  func.return\n}}\n")


def pointwise(wanted: Layers, value: str, types: dict[str, str]) -> str:
    """The 1x1 convolution of a map."""
    inputs = {value: map_of(wanted.source), "w": types["w"]}
    if wanted.bias:
        inputs["b"] = types["b"]
    added = {"other": "a", "own": "z"}.get(wanted.residual)
    operands, kinds = list(inputs), list(inputs.values())
    if added:
        operands.append(added)
        kinds.append(types["z"])
    tail = " then add residual second then relu" if added else " then relu"
    return (
        f"npu.conv2d ins({', '.join(f'%{each}' for each in operands)} : {', '.join(kinds)}) "
        f"outs(%z : {types['z']}) strides [{wanted.stride}, {wanted.stride}] pads [0, 0, 0, 0]"
        f'{tail} {{npu.layer = "pointwise"}}'
    )
