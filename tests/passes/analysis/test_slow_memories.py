"""What layers, copies, loads and stores cost in slow memories, counted by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp

from helpers.pipeline import context, parse, run_passes
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_dialect.time_attributes import CYCLES
from npu_passes.analysis.timed_program import read_program
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of

TABLES = [
    {"name": "fast", "bytes": 4096, "read_bytes_per_cycle": 4},
    {
        "name": "slow",
        "bytes": 4096,
        "read_bytes_per_cycle": Fraction(1, 2),
        "write_bytes_per_cycle": Fraction(1, 4),
    },
    {"name": "rom", "bytes": 4096, "read_bytes_per_cycle": 1, "read_only": True},
    {"name": "xip", "bytes": 4096, "read_bytes_per_cycle": Fraction(1, 4), "read_only": True},
]
BOARD = Machine.from_table(
    {
        "name": "board",
        "clock_hz": 1000,
        "macs_per_cycle": {"f32": 1},
        "memory": [{**each} for each in TABLES],
    },
    "board",
)


def kind(memory: str, shape: str = "64") -> str:
    """A map of floats in a memory."""
    return f'memref<{shape}xf32, #npu.memory<"{memory}">>'


def cycles(body: str, constants: str = "", arguments: str = "") -> int:
    """The cycles of a function on the board."""
    ctx = context()
    module = parse(ctx, f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}\n{constants}")
    TARGET.set(module, TargetAttr.of(BOARD))
    done = run_passes(ctx, module, "npu-estimate-time")
    (function,) = [op for op in done.ops if CYCLES.is_on(op)]
    record = CYCLES.get(function)
    assert record is not None
    total = record.data["total"]
    assert isinstance(total, IntegerAttr)
    return total.value.data


def relu(source: str, target: str) -> int:
    """The cycles of a ReLU from one memory to another."""
    return cycles(
        f"npu.relu ins(%x : {kind(source)}) outs(%y : {kind(target)})",
        arguments=f"%x: {kind(source)}, %y: {kind(target)}",
    )


def test_a_map_in_slow_memory_costs_more() -> None:
    """512 bytes at 4 in a cycle; 256 bytes at 0.5 take 448 cycles more, at 0.25 960."""
    assert relu("fast", "fast") == 128
    assert relu("slow", "fast") == 128 + 448
    assert relu("fast", "slow") == 128 + 960
    assert relu("slow", "slow") == 128 + 448 + 960


def test_copies_and_loops_of_elements() -> None:
    arguments = f"%x: {kind('slow')}, %y: {kind('fast')}"
    copy = f'"memref.copy"(%x, %y) : ({kind("slow")}, {kind("fast")}) -> ()'
    assert cycles(copy, arguments=arguments) == 128 + 448
    loop = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %c64 step %c1 {{
      %v = memref.load %x[%i] : {kind("slow")}
      memref.store %v, %y[%i] : {kind("fast")}
    }}
    """
    assert cycles(loop, arguments=arguments) == 128 + 448


@pytest.mark.parametrize(
    ("mark", "each"),
    [
        ("", Fraction(3, 4)),
        ('{sram.kept_in = "fast"}', Fraction(0)),
        ('{sram.kept_in = "slow"}', Fraction(7, 4)),
        ("{sram.copy_at = {slow = 16 : i64}}", Fraction(7, 4)),
        ('{npu.stored_in = "xip"}', Fraction(15, 4)),
        ('{npu.stored_in = "xip", sram.kept_in = "fast"}', Fraction(0)),
    ],
)
def test_constants_cost_what_their_memory_does(mark: str, each: Fraction) -> None:
    """A row of 64 products in fast memory: all that differs are 256 bytes of weights."""
    weights = "memref<1x64xf32, #npu.flash>"
    body = f"""
    %w = memref.get_global @w : {weights} {mark}
    npu.fully_connected ins(%x, %w : {kind("fast", "1x64")}, {weights})
        outs(%y : {kind("fast", "1x1")})
    """
    constant = (
        f'"memref.global"() <{{sym_name = "w", type = {weights}, constant, '
        'sym_visibility = "private", '
        "initial_value = dense<1.0> : tensor<1x64xf32>}> : () -> ()"
    )
    arguments = f"%x: {kind('fast', '1x64')}, %y: {kind('fast', '1x1')}"
    traffic = -(-(256 + 256 + 4) // 4)
    assert cycles(body, constant, arguments) == traffic + 256 * each


def test_flash_that_no_constant_names() -> None:
    """A caller's map in flash costs what the read-only memory of the machine does."""
    flash = "memref<64xf32, #npu.flash>"
    copy = f'"memref.copy"(%x, %y) : ({flash}, {kind("fast")}) -> ()'
    assert cycles(copy, arguments=f"%x: {flash}, %y: {kind('fast')}") == 128 + 256 * Fraction(3, 4)


def test_constants_in_the_final_program() -> None:
    """The type of the op that names a constant says where it is; what reads it sees flash."""
    weights = "memref<64xf32, #npu.{}>"
    xip, flash = weights.format('memory<"xip">'), weights.format("flash")
    body = f"""
    %w = memref.get_global @w : {xip}
    %v = "memref.memory_space_cast"(%w) : ({xip}) -> {flash}
    "memref.copy"(%v, %y) : ({flash}, {kind("fast")}) -> ()
    """
    constant = (
        f'"memref.global"() <{{sym_name = "w", type = {xip}, constant, '
        'sym_visibility = "private", initial_value = dense<1.0> : tensor<64xf32>}> : () -> ()'
    )
    assert cycles(body, constant, f"%y: {kind('fast')}") == 128 + 256 * Fraction(15, 4)


def test_a_loop_waits_each_time() -> None:
    """What the core waits for slower memories is a part of what it computes."""
    loop = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c3 step %c1 {{
      npu.relu ins(%x : {kind("slow")}) outs(%y : {kind("fast")})
    }}
    """
    text = f"func.func @f(%x: {kind('slow')}, %y: {kind('fast')}) {{\n{loop}\nfunc.return\n}}"
    (function,) = parse(context(), text).ops
    assert isinstance(function, FuncOp)
    rates = Rates.of(BOARD)
    whole = total_of(simulate(read_program(function, rates).body, rates))
    assert (whole.compute, whole.stall) == (3 * (128 + 448), 3 * 448)


def test_a_faster_memory_takes_no_cycle_less() -> None:
    """The first memory sets the rate of the core; memories of one machine are known by name."""
    rates = Rates.of(BOARD)
    assert rates.stored == "rom"
    assert rates.stall("fast", 64, 64) == 0
    assert rates.stall("slow", 4, 8) == 4 * Fraction(7, 4) + 8 * Fraction(15, 4)
    assert rates.stall("elsewhere", 4, 8) == 0
    quick = Rates({}, Fraction(1), memories={"tcm": (Fraction(8), Fraction(1, 2))})
    assert quick.stall("tcm", 64, 2) == 2
