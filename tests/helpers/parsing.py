"""Module text to emitted C, for the tests of the C target."""

from __future__ import annotations

from typing import Literal

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, test
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_dialect.dma import DMA
from npu_dialect.dram import DRAM
from npu_dialect.dsp import DSP
from npu_dialect.mve import MVE
from npu_dialect.npu import NPU
from npu_dialect.sram import SRAM
from npu_passes.emit.c import CFiles, emit


def parse(text: str) -> ModuleOp:
    """Parse a text to a verified module."""
    context = Context()
    for dialect in (
        builtin.Builtin,
        arith.Arith,
        func.Func,
        math.Math,
        memref.MemRef,
        scf.Scf,
        test.Test,
        DMA,
        DRAM,
        DSP,
        MVE,
        NPU,
        SRAM,
    ):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def emit_text(text: str, prefix: str | None = None, weights: Literal["c", "bin"] = "c") -> CFiles:
    """The C of a module's text."""
    return emit(parse(text), prefix, weights)


def kernel(body: str, arguments: str = "%x: memref<8xf32>, %y: memref<8xf32>") -> str:
    """A public function `k` with some index constants."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(9))
    return f"func.func @k({arguments}) {{\n{constants}\n{body}\nfunc.return\n}}"


def elementwise(body: str, element: str = "f32", out: str | None = None) -> str:
    """A kernel whose body computes `%r` from `%v`, for each element."""
    out = out or element
    loop = f"""
    scf.for %i = %c0 to %c8 step %c1 {{
      %v = memref.load %x[%i] : memref<8x{element}>
      {body}
      memref.store %r, %y[%i] : memref<8x{out}>
    }}"""
    return kernel(loop, f"%x: memref<8x{element}>, %y: memref<8x{out}>")
