"""The DMA microcode of a compiled network, read from the IR: for report.json and the table.

    {"name": "read_1x4x8x16", "channel": 1, "bytes": 42, "template_bytes": 111, "layers": ["conv1"]}

Each microcode program of the module gives such a row. `bytes` is its size. `template_bytes` is the
size of the paper's unrolled program for the same transfer (paper 004, listing 1.2). `layers` names
each layer whose transfers use the program, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from npu_dialect.attributes import LAYER, PROGRAM
from npu_dialect.dma import StartOp
from npu_dialect.machine import Machine
from npu_dialect.pl330 import ProgramOp
from npu_dialect.target import machine_of
from npu_dialect.walking import walk
from npu_passes.emit.pl330.assemble import programs_of
from npu_passes.pl330.lower_dma_to_pl330 import longest_burst, microcode_transfer, widest_beat
from npu_plans.transfers.bursts import bursts_of
from npu_plans.transfers.template import template_bytes


def microcode_of(module: ModuleOp) -> tuple[Mapping[str, Any], ...]:
    """A row for each program of a module, in module order: the key `microcode` of report.json."""
    machine, starts = machine_of(module), list(starts_of(module))
    return tuple(row(program, machine, starts) for program in programs_of(module))


def starts_of(module: ModuleOp) -> Iterator[tuple[str, StartOp]]:
    """Each transfer that has a program, with the program's name first."""
    for op in walk(module):
        if isinstance(op, StartOp):
            reference = PROGRAM.get(op)
            if reference is not None:
                yield reference, op


def row(
    program: ProgramOp, machine: Machine | None, starts: Sequence[tuple[str, StartOp]]
) -> Mapping[str, Any]:
    """The row of one program; `starts` are all transfers with the names of their programs."""
    name = program.sym_name.data
    used = [op for symbol, op in starts if symbol == name]
    layers = [LAYER.get(op) for op in used]
    known = dict.fromkeys(each for each in layers if each is not None)
    return {
        "name": name,
        "channel": None if program.channel is None else program.channel.value.data,
        "bytes": program.size,
        "template_bytes": template_of(used[0], machine) if used and machine else None,
        "layers": list(known),
    }


def template_of(op: StartOp, machine: Machine) -> int:
    """Bytes of the paper's unrolled program for a transfer (paper 004, listing 1.2)."""
    each = microcode_transfer(op, machine)
    beat, beats = widest_beat(machine), longest_burst(machine)
    bursts = bursts_of(each.runs.bytes, each.source, each.target, beat, beats)
    return template_bytes(each.runs, bursts)


def microcode_line(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for the table: how many programs there are, and their bytes in total."""
    size = sum(each["bytes"] for each in rows)
    template = sum(each["template_bytes"] or 0 for each in rows)
    return f"microcode: {len(rows)} programs, {size} bytes (unrolled as in paper 004: {template})"
