"""A chain of convolutions whose maps and parameters all lie off the chip."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.parser import Parser

from npu_dialect.attributes import TARGET, TILE
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import TargetAttr
from npu_plans.tiles.layer_shape import ConvShape
from npu_tools.compiling.driver import run_passes
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.reports.off_chip import TransferTotal
from npu_tools.shared.installed import available_passes, context

PLACES = "npu-double-buffer,npu-assign-sram-offsets,npu-assign-dram-offsets"
"""The passes after `npu-tile-loops`, up to offsets for all buffers."""


def shapes_of(layer: ConvShape) -> list[tuple[int, ...]]:
    """Shapes of the input, the kernels, the bias and the output."""
    rows, columns = layer.rows, layer.columns
    return [
        (1, layer.channels_in, rows.extent, columns.extent),
        (layer.channels_out, layer.channels_in, rows.kernel, columns.kernel),
        (layer.channels_out,),
        (1, layer.channels_out, rows.outputs, columns.outputs),
    ]


def argument_shapes(layers: Sequence[ConvShape]) -> list[tuple[int, ...]]:
    """Shapes of the arguments of the chain: the image, kernels and biases, the result."""
    parameters = [shape for layer in layers for shape in shapes_of(layer)[1:3]]
    return [shapes_of(layers[0])[0], *parameters, shapes_of(layers[-1])[3]]


def in_dram(shape: Sequence[int]) -> str:
    """The type of a float32 buffer off the chip."""
    return f"memref<{'x'.join(map(str, shape))}xf32, #npu.dram>"


def chain_text(layers: Sequence[ConvShape]) -> str:
    """The text of @chain: layers with a ReLU each, and the maps between them in `dram.alloc`."""
    names = ["x", *(f"{kind}{i}" for i in range(len(layers)) for kind in "wb"), "y"]
    roles = ["input"] * (len(names) - 1) + ["output"]
    arguments = ", ".join(
        f"%{name}: {in_dram(shape)} {{dram.{role}}}"
        for name, shape, role in zip(names, argument_shapes(layers), roles, strict=True)
    )
    lines, source = [f"func.func @chain({arguments}) {{"], "%x"
    for index, layer in enumerate(layers):
        x, w, b, y = map(in_dram, shapes_of(layer))
        target = "%y" if layer is layers[-1] else f"%m{index}"
        if target != "%y":
            lines.append(f"  {target} = dram.alloc : {y}")
        axes = (layer.rows, layer.columns)
        pads = [axis.pad_before for axis in axes] + [axis.pad_after for axis in axes]
        lines.append(
            f"  npu.conv2d ins({source}, %w{index}, %b{index} : {x}, {w}, {b}) outs({target} : {y})"
            f" strides {[axis.stride for axis in axes]} pads {pads} then relu"
            f' {{npu.layer = "{layer.name}"}}'
        )
        source = target
    return "\n".join([*lines, "  func.return", "}"])


def chain(layers: Sequence[ConvShape], machine: Machine, passes: str = "") -> ModuleOp:
    """The program after some passes."""
    module = Parser(context(), chain_text(layers)).parse_module()
    TARGET.set(module, TargetAttr.of(machine))
    through(module, passes)
    return module


def through(module: ModuleOp, passes: str) -> None:
    """Run passes."""
    run_passes(module, parse_passes(available_passes(), passes) if passes else (), ())


def function_of(module: ModuleOp) -> func.FuncOp:
    """The only function of the module."""
    return next(op for op in module.ops if isinstance(op, func.FuncOp))


def predicted(module: ModuleOp) -> dict[str, TransferTotal]:
    """The traffic that `npu-tile-loops` has written on the layers, by layer name."""
    found: dict[str, TransferTotal] = {}
    for op in module.walk():
        if isinstance(op, LayerOp) and (said := TILE.get(op)) is not None:
            size, transfers = said.data["bytes"], said.data["transfers"]
            assert isinstance(size, IntegerAttr)
            assert isinstance(transfers, IntegerAttr)
            found[op.layer_name or ""] = TransferTotal(size.value.data, transfers.value.data)
    return found


def floats(shapes: Sequence[Sequence[int]]) -> list[int]:
    """Bytes of each shape in float32."""
    return [4 * prod(shape) for shape in shapes]
