"""The arenas in the program of `harness.py`: memory, fences, and what fills them before a run.

static unsigned char arena0_memory[1024 + 16 + 64];      one for each pointer of ID_run
static unsigned char *arena0;
memset(arena0, 0xA5, 1088);
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npu_tools.reports.report import Report

FENCE = 64
"""Bytes after each block of memory that must stay unchanged, to detect writes past its end."""


@dataclass(frozen=True)
class Block:
    """An arena in the program: its variable, its memory in the report, and its bytes."""

    variable: str
    memory: str
    bytes: int


def blocks_of(report: Report) -> list[Block]:
    """The arenas of a program, in the order of its pointers."""
    if len(report.arenas) < 2:
        memory = report.arenas[0].memory if report.arenas else ""
        return [Block("arena", memory, report.arena_bytes)]
    return [
        Block(f"arena{index}", arena.memory, arena.bytes)
        for index, arena in enumerate(report.arenas)
    ]


def poison_text(name: str, report: Report, *, from_file: bool = False) -> str:
    """C that fills the arenas, and the fences behind them, with 0xA5.

    States are reset before the first run, and copies of constants are made then; both are kept.
    """
    blocks = blocks_of(report)
    first = [f"  memset({each.variable}, 0xA5, {each.bytes + FENCE});" for each in blocks]
    if not report.states and not report.kept_constants:
        return "\n".join(("  (void)runs;", *first))
    lines = "\n  ".join(first)
    arguments = ", ".join(each.variable for each in blocks)
    calls = [f"    {name}_reset({arguments});"] if report.states else []
    if report.kept_constants:
        pointers = f"{arguments}, weights" if from_file else arguments
        calls.append(f"    if ({name}_init({pointers})) exit(4);")
    reset = "\n".join(("  if (!runs) {", f"  {lines}", *calls, "  }"))
    return "\n".join((reset, *(line for each in blocks for line in gaps_text(each, report))))


def gaps_text(block: Block, report: Report) -> Iterator[str]:
    """C that fills an arena and its fence, but for the states and copies in it."""
    states = [(each.offset, each.bytes, each.memory) for each in report.states]
    copies = [(each.offset, each.bytes, each.memory) for each in report.kept_constants]
    kept = sorted(each for each in (*states, *copies) if each[2] in (None, block.memory))
    starts = [0, *(offset + size for offset, size, _ in kept)]
    ends = [*(offset for offset, _, _ in kept), block.bytes + FENCE]
    for start, end in zip(starts, ends, strict=True):
        if start < end:
            yield f"  memset({block.variable} + {start}, 0xA5, {end - start});"


def arena_parts(report: Report) -> dict[str, str]:
    """The parts of the program's text that name its arenas."""
    blocks = blocks_of(report)
    home = {each.memory: index for index, each in enumerate(blocks)}
    return {
        "arena_memories": "\n".join(
            f"static unsigned char {each.variable}_memory[{each.bytes} + 16 + {FENCE}];"
            for each in blocks
        ),
        "arena_pointers": "\n".join(f"static unsigned char *{each.variable};" for each in blocks),
        "arenas": ", ".join(each.variable for each in blocks),
        "homes": ", ".join(str(home.get(layer.memory or "", 0)) for layer in report.layers),
        "aligned": "\n".join(
            f"  {each.variable} = aligned({each.variable}_memory);" for each in blocks
        ),
        "broken": " || ".join(f"broken({each.variable} + {each.bytes})" for each in blocks),
    }
