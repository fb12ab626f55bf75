"""The arenas of a program are listed as C takes their pointers."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from helpers.pipeline import context, parse
from npu_dialect.machine import Machine
from npu_dialect.walking import walk_kind
from npu_tools.reports.arena_report import ArenaReport, arenas_in


def test_in_the_order_of_the_machines_memories() -> None:
    """A memory that holds copies of constants only comes last in the IR."""
    machine = Machine.load("stm32h743")
    first, second = [each for each in machine.memories if not each.read_only][:2]
    sizes = f"{second.name} = 64 : i64, {first.name} = 32 : i64"
    text = f"func.func @f() attributes {{sram.arenas = {{{sizes}}}}} {{ func.return }}"
    module = parse(context(), text)
    (function,) = walk_kind(module, FuncOp)
    assert list(arenas_in(function, machine)) == [
        ArenaReport(first.name, 32, first.bytes),
        ArenaReport(second.name, 64, second.bytes),
    ]
