"""The size of the DMA microcode for the layers of FlowNet-S, and of the paper's unrolled template.

    python bench/microcode.py

Each layer is compiled from a convolution on maps in DDR to tiles, double buffering and DMA
programs. The exit code is 1 if a program is larger than the template for the same transfer (paper
004, listing 1.2).
"""

from __future__ import annotations

import sys
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_plans.tiles.layer_shape import ConvShape
from npu_tools.compiling.driver import run_passes
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.reports.microcode_report import microcode_of
from npu_tools.shared.installed import available_passes, context

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.tiles.flownet_s import LAYERS

MACHINE = Machine.load("zynq7020")
PASSES = "npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets,npu-lower-dma-to-pl330"


def layer_text(layer: ConvShape) -> str:
    """The IR of a layer: a convolution on maps in DDR."""
    rows, columns = layer.rows, layer.columns
    kinds = {
        "x": (1, layer.channels_in, rows.extent, columns.extent),
        "w": (layer.channels_out, layer.channels_in, rows.kernel, columns.kernel),
        "b": (layer.channels_out,),
        "y": (1, layer.channels_out, rows.outputs, columns.outputs),
    }
    types = {
        name: f"memref<{'x'.join(map(str, shape))}xf32, #npu.dram>" for name, shape in kinds.items()
    }
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
    return f"""func.func @{layer.name}({arguments}) {{
      npu.conv2d ins(%x, %w, %b : {types["x"]}, {types["w"]}, {types["b"]}) outs(%y : {types["y"]})
        strides [{rows.stride}, {columns.stride}]
        pads [{rows.pad_before}, {columns.pad_before}, {rows.pad_after}, {columns.pad_after}]
      func.return
    }}"""


def programs(layer: ConvShape) -> ModuleOp:
    """Compile a layer; returns the module with its DMA programs."""
    module = Parser(context(), layer_text(layer)).parse_module()
    TARGET.set(module, TargetAttr.of(MACHINE))
    run_passes(module, parse_passes(available_passes(), PASSES), ())
    return module


def main() -> int:
    """Print a line for each program, and the sums of each layer; returns the exit code."""
    larger = False
    for layer in LAYERS:
        rows = microcode_of(programs(layer))
        for row in rows:
            size, template = row["bytes"], row["template_bytes"]
            ratio = template / size
            print(f"  {row['name']:28} {size:5} bytes, template {template:6} ({ratio:.1f})")
            larger |= size > template
        sums = [sum(row[key] for row in rows) for key in ("bytes", "template_bytes")]
        print(f"{layer.name:30} {sums[0]:5} bytes, template {sums[1]:6}")
    return int(larger)


if __name__ == "__main__":
    sys.exit(main())
