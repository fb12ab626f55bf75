"""Transfers, off-chip buffers and buffers with gaps in the interpreter; mistakes are errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.interpreters import Counters, run_function
from npu_dialect.interpreters.dma_blocks import Blocks
from npu_tools.shared.installed import context

FAR, NEAR = "memref<4xf32, #npu.dram>", "memref<4xf32, #npu.sram>"
X = np.array([1, 2, 3, 4], np.float32)


def run(
    body: str, counters: Counters | None = None, attributes: str = ""
) -> tuple[NDArray[np.float32], ...]:
    """Run a function of %x, an input, and %y, an output off the chip."""
    module = Parser(
        context(),
        f"""
        func.func @f(%x: {FAR} {{dram.input}}, %y: {FAR} {{dram.output}}) {attributes} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %nine = arith.constant 9.0 : f32
          {body}
          func.return
        }}""",
    ).parse_module()
    module.verify()
    return run_function(module, None, [X], counters)


IN = f"""
    %a = sram.alloc : {NEAR}
    %t = dma.start %x to %a channel 1 : {FAR} to {NEAR}"""
OUT = f"""
    %u = dma.start %a to %y channel 3 : {NEAR} to {FAR}
    dma.wait %u"""


def test_there_and_back() -> None:
    counters = Counters()
    body = f"{IN}\ndma.wait %t\ndma.reads %x : {FAR}\ndma.writes %y : {FAR}{OUT}"
    (y,) = run(body, counters)
    assert np.array_equal(y, X)
    assert counters == Counters(0, 16, 16, 1, 1, 2)


def test_marks_of_work_compute_nothing() -> None:
    (y,) = run(f"dma.work 7{IN}\ndma.work 900\ndma.wait %t{OUT}")
    assert np.array_equal(y, X)


def test_weights_count_for_themselves() -> None:
    counters = Counters(weight_bytes=100)
    run(f"{IN.replace('start', 'start weights')}\ndma.wait %t{OUT}", counters)
    assert counters == Counters(116, 0, 16, 0, 0, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (IN, "f returns without a dma.wait for %t"),
        (f"{IN}\ndma.wait %t\ndma.wait %t", "%t has been waited for already"),
        (
            f"{IN}\nmemref.store %nine, %a[%c0] : {NEAR}\ndma.wait %t",
            "the target of %t was written before it was done",
        ),
        (
            f"{IN}\nmemref.store %nine, %x[%c0] : {FAR}\ndma.wait %t",
            "the source of %t was written before it was done",
        ),
        (
            f"scf.for %i = %c0 to %c4 step %c1 {{\n{IN}\n}}",
            "f returns without a dma.wait for %t, %t, %t, %t",
        ),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(InterpretationError, match=message):
        run(body)


def test_who_reads_too_early_reads_poison() -> None:
    early = f"""{IN}
      %b = sram.alloc : {NEAR}
      "memref.copy"(%a, %b) : ({NEAR}, {NEAR}) -> ()
      dma.wait %t{OUT.replace("%a", "%b")}"""
    (y,) = run(early)
    assert set(y.tobytes()) == {0xA5}


def test_a_function_waits_for_its_own_transfers() -> None:
    module = Parser(
        context(),
        f"""
        func.func private @load(%x: {FAR}, %a: {NEAR}) {{
          %t = dma.start %x to %a channel 1 : {FAR} to {NEAR}
          func.return
        }}
        func.func @f(%x: {FAR} {{dram.input}}, %y: {FAR} {{dram.output}}) {{
          %a = sram.alloc : {NEAR}
          func.call @load(%x, %a) : ({FAR}, {NEAR}) -> ()
          func.return
        }}""",
    ).parse_module()
    with pytest.raises(InterpretationError, match=r"load returns without a dma.wait for %t"):
        run_function(module, None, [X])


def test_off_chip_buffers_share_their_block() -> None:
    body = f"""{IN}
      dma.wait %t
      %m = dram.alloc at 0 : {FAR}
      %n = dram.alloc at 8 : {FAR}
      %s = dma.start %a to %m channel 3 : {NEAR} to {FAR}
      dma.wait %s
      %v = dma.start %n to %a channel 1 : {FAR} to {NEAR}
      dma.wait %v{OUT}"""
    (y,) = run(body, attributes="attributes {dram.bytes = 32 : i64}")
    assert np.array_equal(y[:2], X[2:])
    assert set(y[2:].tobytes()) == {0xA5}
    with pytest.raises(InterpretationError, match="inside the off-chip memory of 16 bytes"):
        run(body, attributes="attributes {dram.bytes = 16 : i64}")


PADDED = "memref<2x3xf32, strided<[4, 1]>, #npu.sram>"
"""Two rows of three elements: 32 bytes, with a gap behind each row."""
BEHIND = "memref<4xf32, strided<[1], offset: 4>, #npu.sram>"
GAPS = f"""{IN}
    dma.wait %t
    %p = sram.alloc at 0 : {PADDED}
    %q = sram.alloc at 0 : memref<8xf32, #npu.sram>
    scf.for %i = %c0 to %c4 step %c1 {{
      %v = memref.load %a[%i] : {NEAR}
      memref.store %v, %q[%i] : memref<8xf32, #npu.sram>
    }}
    memref.store %nine, %p[%c1, %c1] : {PADDED}
    %r = memref.subview %q[4] [4] [1] : memref<8xf32, #npu.sram> to {BEHIND}
    %u = dma.start %r to %y channel 3 : {BEHIND} to {FAR}
    dma.wait %u"""


def test_buffers_with_gaps_lie_in_the_arena() -> None:
    (y,) = run(GAPS, attributes="attributes {sram.arena = 32 : i64}")
    assert y[1] == 9
    assert set(y[2:].tobytes()) == {0xA5}
    with pytest.raises(
        InterpretationError, match="inside the arena of 28 bytes, got bytes 0 to 32"
    ):
        run(GAPS.replace("8xf32", "7xf32"), attributes="attributes {sram.arena = 28 : i64}")


def test_arguments_with_gaps() -> None:
    kind = "memref<2x3xf32, strided<[4, 1]>, #npu.dram>"
    module = Parser(
        context(),
        f"""
        func.func @f(%x: {kind} {{dram.input}}, %y: {kind} {{dram.output}}) {{
          %a = sram.alloc : {PADDED}
          %t = dma.start %x to %a channel 1 : {kind} to {PADDED}
          dma.wait %t
          %u = dma.start %a to %y channel 3 : {PADDED} to {kind}
          dma.wait %u
          func.return
        }}""",
    ).parse_module()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = run_function(module, None, [x])
    assert np.array_equal(x, y)


def test_places_of_blocks_in_the_index() -> None:
    """A map [2, 3, 5, 9] has 2 x 3 blocks of 4 x 4 in each plane, numbered in memory order."""
    map = np.zeros((2, 3, 5, 9), np.int8)
    blocks = Blocks((4, 4), 0, map, np.zeros(5, np.uint8))
    assert blocks.bits(map).reshape(-1).tolist() == list(range(2 * 3 * 2 * 3))
    assert blocks.bits(map[1:, 2:, 4:, 4:]).reshape(-1).tolist() == [34, 35]
    assert blocks.bits(map[:1, 1:, :5, 3:5]).reshape(-1).tolist() == [6, 7, 9, 10, 12, 13, 15, 16]
