"""How often the core reads and writes each buffer, counted by hand."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from npu_dialect.npu.attributes import SramSpace
from npu_passes.analysis.core_accesses import Accesses, accesses_of
from npu_passes.analysis.lifetimes import lifetimes_of

SRAM = "#npu.sram"


def accesses(body: str, arguments: str = "") -> dict[str, Accesses]:
    """The accesses of each buffer of a function, by its name."""
    module = parse(context(), f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}")
    (function,) = module.ops
    buffers = lifetimes_of(function, SramSpace()).buffers
    found = accesses_of(function, [each.value for each in buffers])
    return {each.name: count for each, count in zip(buffers, found, strict=True)}


def test_ports_are_copied_by_the_caller() -> None:
    kind = f"memref<4xf32, {SRAM}>"
    found = accesses(
        f"npu.relu ins(%x : {kind}) outs(%y : {kind})",
        f"%x: {kind} {{sram.input}}, %y: {kind} {{sram.output}}",
    )
    assert found == {"x": Accesses(16, 16), "y": Accesses(16, 16)}


@pytest.mark.parametrize(("filters", "share"), [(1, 1), (3, 3), (8, 4)])
def test_a_convolution_reads_its_input_for_each_block_of_filters(filters: int, share: int) -> None:
    """2 channels of 6x6, 3x3 without pads: 16 outputs of 18 products for each filter."""
    ifm, ofm = f"memref<1x2x6x6xf32, {SRAM}>", f"memref<1x{filters}x4x4xf32, {SRAM}>"
    weights, bias = f"memref<{filters}x2x3x3xf32>", f"memref<{filters}xf32>"
    found = accesses(
        f"""
        %x = sram.alloc : {ifm}
        %y = sram.alloc : {ofm}
        npu.conv2d ins(%x, %w, %b : {ifm}, {weights}, {bias}) outs(%y : {ofm})
            strides [1, 1] pads [0, 0, 0, 0]
        """,
        f"%w: {weights}, %b: {bias}",
    )
    assert found["x"] == Accesses(read=4 * (filters * 16 * 18 // share))
    assert found["y"] == Accesses(written=4 * filters * 16)


def test_what_stands_in_loops_counts_for_each_iteration() -> None:
    kind = f"memref<8xf32, {SRAM}>"
    found = accesses(
        f"""
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %c8 = arith.constant 8 : index
        %a = sram.alloc : {kind}
        %b = sram.alloc : {kind}
        scf.for %i = %c0 to %c8 step %c3 {{
          "memref.copy"(%a, %b) : ({kind}, {kind}) -> ()
          scf.for %j = %c0 to %c3 step %c1 {{
            %v = memref.load %b[%j] : {kind}
            memref.store %v, %a[%j] : {kind}
          }}
        }}
        """
    )
    assert found == {"a": Accesses(3 * 32, 9 * 4), "b": Accesses(9 * 4, 3 * 32)}


def test_an_unknown_op_reads_and_writes_its_buffers() -> None:
    kind = f"memref<8xf32, {SRAM}>"
    found = accesses(f'%a = sram.alloc : {kind}\n"test.op"(%a) : ({kind}) -> ()')
    assert found == {"a": Accesses(32, 32)}
