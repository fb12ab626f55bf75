"""How much microcode the layers of FlowNet-S need, beside the paper's unrolled template.

    python bench/microcode.py

Each layer goes the whole road, from a convolution on maps in DDR to tiles, double buffering and
programs. Exit code 1 if a program is larger than the template for the same transfer.
"""

from __future__ import annotations

import sys
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_dialect.dma import StartOp
from npu_dialect.target import TARGET, Machine, TargetAttr
from npu_passes.emit.pl330.assemble import programs_of
from npu_passes.lowering.lower_dma_to_pl330 import (
    PROGRAM,
    analyze,
    longest_burst,
    widest_beat,
)
from npu_passes.microcode.bursts import bursts_of
from npu_passes.microcode.template import template_bytes
from npu_passes.tiling.layer_shape import ConvShape
from npu_tools.driver import available_passes, context, run_passes
from npu_tools.pass_text import parse_passes

# In place of this folder, where `tiling` would be this file.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from tiling.flownet_s import LAYERS

MACHINE = Machine.load("zynq7020")
PASSES = "npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets,npu-lower-dma-to-pl330"


def layer_text(layer: ConvShape) -> str:
    """A convolution on maps in DDR."""
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
    """The layer with its programs."""
    module = Parser(context(), layer_text(layer)).parse_module()
    module.attributes[TARGET] = TargetAttr.of(MACHINE)
    run_passes(module, parse_passes(available_passes(), PASSES), ())
    return module


def template_of(op: StartOp) -> int:
    """Bytes of the paper's template for a transfer."""
    each = analyze(op, MACHINE)
    beat, beats = widest_beat(MACHINE), longest_burst(MACHINE)
    bursts = bursts_of(each.runs.bytes, each.source, each.target, beat, beats)
    return template_bytes(each.runs, bursts)


def main() -> int:
    """Print a line for each program, and a sum for each layer."""
    larger = False
    for layer in LAYERS:
        module = programs(layer)
        sizes = {op.sym_name.data: op.size for op in programs_of(module)}
        templates: dict[str, int] = {}
        for op in (each for each in module.walk() if isinstance(each, StartOp)):
            name = str(op.attributes[PROGRAM]).removeprefix("@")
            templates[name] = template_of(op)
        for name, size in sizes.items():
            ratio = templates[name] / size
            print(f"  {name:28} {size:5} bytes, template {templates[name]:6} ({ratio:.1f})")
            larger |= size > templates[name]
        print(
            f"{layer.name:30} {sum(sizes.values()):5} bytes, template {sum(templates.values()):6}"
        )
    return int(larger)


if __name__ == "__main__":
    sys.exit(main())
