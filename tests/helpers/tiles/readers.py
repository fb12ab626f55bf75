"""Layers that read one map off the chip: convolutions and pools of any windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.parsing import parse

Shape = tuple[int, ...]


@dataclass(frozen=True)
class LayerOfMap:
    """A layer: a convolution or a pool. `out`: its output channels, those of the map for a pool.

    `on_chip`: where its result lies. `grouped`: whether a convolution is depthwise. `behind`: an op
    on its result stands behind it, in front of the next layer.
    """

    kind: str
    out: int
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    grouped: bool = False
    bias: bool = False
    on_chip: bool = True
    behind: bool = False


@dataclass(frozen=True)
class Readers:
    """A map of this shape, and what reads it. `relu`: whether there is one between the two."""

    source: Shape
    layers: tuple[LayerOfMap, ...]
    relu: bool = False

    @property
    def arguments(self) -> dict[str, Shape]:
        """The arguments of the function, with their shapes: the map, parameters, results."""
        found: dict[str, Shape] = {"x": self.source}
        for place, layer in enumerate(self.layers):
            if layer.kind == "conv2d":
                depth = 1 if layer.grouped else self.source[1]
                found[f"w{place}"] = (layer.out, depth, layer.kernel, layer.kernel)
            if layer.bias:
                found[f"b{place}"] = (layer.out,)
        return {**found, **{f"z{place}": self.output(each) for place, each in enumerate(self.layers)}}

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the arguments."""
        return list(self.arguments.values())

    @property
    def bytes(self) -> int:
        """The bytes of all of them."""
        return 4 * sum(map(prod, self.shapes))

    def output(self, layer: LayerOfMap) -> Shape:
        """The shape of the result of a layer."""
        sizes = (
            (size + 2 * layer.pad - layer.kernel) // layer.stride + 1 for size in self.source[2:]
        )
        return 1, layer.out, *sizes


@st.composite
def readers(draw: st.DrawFn) -> Readers:
    """Random layers of one map."""
    channels, rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9)), draw(st.integers(1, 7))
    found: list[LayerOfMap] = []
    for _ in range(draw(st.integers(2, 3))):
        kind = draw(st.sampled_from(["conv2d", "conv2d", "max_pool2d", "avg_pool2d"]))
        conv, kernel = kind == "conv2d", draw(st.integers(1, min(rows, columns, 5)))
        grouped = conv and draw(st.booleans())
        found.append(
            LayerOfMap(
                kind=kind,
                out=draw(st.integers(1, 9)) if conv and not grouped else channels,
                kernel=kernel,
                stride=draw(st.sampled_from([1, 1, 2, 3])),
                pad=draw(st.integers(0, kernel // 2)),
                grouped=grouped,
                bias=conv and draw(st.booleans()),
                on_chip=draw(st.booleans()),
                behind=draw(st.booleans()),
            )
        )
    return Readers((1, channels, rows, columns), tuple(found), draw(st.booleans()))


def kind_of(shape: Shape, space: str = "dram") -> str:
    """The type of a map."""
    return f"memref<{'x'.join(map(str, shape))}xf32, #npu.{space}>"


def module_of(wanted: Readers) -> ModuleOp:
    """The layers in a function."""
    types = {name: kind_of(shape) for name, shape in wanted.arguments.items()}
    lines, value = list[str](), "x"
    if wanted.relu:
        lines.append(f"%r = dram.alloc : {types['x']}")
        lines.append(f"npu.relu ins(%x : {types['x']}) outs(%r : {types['x']})")
        value = "r"
    copies: list[str] = []
    for place, layer in enumerate(wanted.layers):
        out, kind = f"z{place}", types[f"z{place}"]
        if layer.on_chip:
            out, kind = f"y{place}", kind_of(wanted.output(layer), "sram")
            lines.append(f"%{out} = sram.alloc : {kind}")
            both = f"({kind}, {types[f'z{place}']}) -> ()"
            copies.append(f'"memref.copy"(%{out}, %z{place}) : {both}')
        lines.append(line_of(wanted, place, value, f"%{out} : {kind}", types))
        if layer.behind:
            lines.append(f"npu.relu ins(%{out} : {kind}) outs(%{out} : {kind})")
    signature = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
    body = "\n  ".join([*lines, *copies])
    return parse(f"func.func @f({signature}) {{\n  {body}\n  func.return\n}}\n")


def line_of(wanted: Readers, place: int, value: str, out: str, types: dict[str, str]) -> str:
    """The text of one layer."""
    layer = wanted.layers[place]
    operands = {value: types["x"]}
    operands |= {name: types[name] for name in (f"w{place}", f"b{place}") if name in types}
    names = ", ".join(f"%{name}" for name in operands)
    text = f"npu.{layer.kind} ins({names} : {', '.join(operands.values())}) outs({out})"
    if layer.kind != "conv2d":
        text += f" kernel [{layer.kernel}, {layer.kernel}]"
    text += f" strides [{layer.stride}, {layer.stride}] pads [{', '.join([str(layer.pad)] * 4)}]"
    if layer.grouped:
        text += f" groups {wanted.source[1]}"
    return text + f' {{npu.layer = "l{place}"}}'
