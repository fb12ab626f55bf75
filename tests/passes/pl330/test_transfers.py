"""Transfers by microcode move what numpy moves and touch nothing else, in Python and in QEMU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from helpers.pl330.microcode import Machine as Channel
from helpers.pl330.microcode import Memory
from helpers.pl330.transfers import Side, Transfer, transfers
from helpers.pl330.zynq import Zynq
from npu_dialect.attributes import CODE_BYTES, TARGET
from npu_dialect.dma import DMA
from npu_dialect.machine import Machine
from npu_dialect.npu import NPU
from npu_dialect.pl330 import PL330, ProgramOp
from npu_dialect.sram import SRAM
from npu_dialect.target import TargetAttr
from npu_passes.emit.pl330.assemble import code_of, programs_of
from npu_passes.pl330.check import violations_of
from npu_passes.pl330.controller import Controller
from npu_passes.pl330.lower_dma_to_pl330 import DAR_WORD, SAR_WORD, LowerDmaToPl330Pass

DDR = 0x0010_0000
OCM = 0xFFFC_0000
GUARD = 64


def lowered(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, func.Func, memref.MemRef, NPU, SRAM, DMA, PL330):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    LowerDmaToPl330Pass().apply(context, module)
    module.verify()
    return module


def program_of(transfer: Transfer) -> ProgramOp:
    """The program of a transfer, after pl330-check has accepted it."""
    (program,) = programs_of(lowered(transfer.text()))
    assert violations_of(program, Controller()) == ()
    return program


def patched(program: ProgramOp, source: int, target: int) -> bytes:
    code = bytearray(code_of(program))
    assert CODE_BYTES.get(program) == len(code)
    for at, address in ((SAR_WORD, source), (DAR_WORD, target)):
        assert code[at : at + 4] == bytes(4)
        code[at : at + 4] = address.to_bytes(4, "little")
    return bytes(code)


def box(*extents: int, channel: int = 2, kind: str = "f32", before: int = 0) -> Transfer:
    """A box from an array that is larger by `before` at every end, to an array of its own size."""
    rank = len(extents)
    none = (0,) * rank
    side = Side((before,) * rank, (before,) * rank)
    return Transfer(extents, kind, side, Side(none, none), 0, channel, False)


@settings(max_examples=50, deadline=None)
@given(transfer=transfers())
@example(transfer=box(3, 5, 28, before=1))
@example(transfer=box(600, 3, kind="i8", before=4))
@example(transfer=box(70000, kind="f64"))
def test_moves_what_numpy_moves(transfer: Transfer) -> None:
    program = program_of(transfer)
    source, before, after = transfer.arrays(1)
    ddr, ocm = 0x1000_0000, 0x2000_0000
    ends = transfer.addresses(ddr, ocm)
    channel = Channel(
        Memory(ends[0], bytearray(source.tobytes())), Memory(ends[1], bytearray(before.tobytes()))
    )
    channel.run(patched(program, *transfer.firsts(ddr, ocm)))
    np.testing.assert_array_equal(np.frombuffer(channel.target.data, before.dtype), after.ravel())
    assert channel.events == [transfer.channel]


BATCH = st.lists(transfers(most=1 << 14), min_size=8, max_size=8)


@settings(max_examples=8, deadline=None, phases=[Phase.generate])
@given(batch=BATCH)
def test_eight_at_a_time(
    zynq: Zynq, tmp_path_factory: pytest.TempPathFactory, batch: list[Transfer]
) -> None:
    """Random transfers on an emulated controller, one for each channel.

    The destinations, their guards and the sources are compared.
    """
    memory: dict[int, bytes] = {}
    expected: list[tuple[int, bytes]] = []
    programs: list[tuple[int, bytes]] = []
    guard = bytes(range(GUARD))
    for channel, transfer in enumerate(batch):
        made = replace(transfer, channel=channel)
        source, before, after = made.arrays(channel)
        places = DDR + 0x10000 * channel, OCM + 0x8000 * channel + GUARD
        programs.append((channel, patched(program_of(made), *made.firsts(*places))))
        ends = made.addresses(*places)
        memory |= {
            ends[0]: source.tobytes(),
            ends[1] - GUARD: guard + before.tobytes() + guard,
        }
        expected.append((ends[1] - GUARD, guard + after.tobytes() + guard))
        expected.append((ends[0], source.tobytes()))
    ranges = [(address, len(data)) for address, data in expected]
    done = zynq.run(programs, memory, ranges, tmp_path_factory.mktemp("batch"), 0xFF)
    assert done.clean
    assert done.interrupts == 0xFF
    assert done.ranges == tuple(data for _, data in expected)


@pytest.mark.parametrize(
    "transfer",
    [
        box(8, 12, 40, before=1),
        box(3, 33, 7, kind="i8", before=3),
        Transfer(
            (4, 9, 31), "f32", Side((0, 0, 0), (0, 0, 1)), Side((1, 2, 0), (1, 30, 1)), 1, 3, True
        ),
        Transfer((6, 17), "f32", Side((1, 1), (0, 30000)), Side((0, 0), (0, 0)), 0, 0, False),
        Transfer(
            (2, 3, 4, 5), "i16", Side((1,) * 4, (1,) * 4), Side((1,) * 4, (2,) * 4), 3, 7, True
        ),
    ],
    ids=lambda transfer: "x".join(map(str, transfer.box)),
)
def test_emulated(zynq: Zynq, tmp_path: Path, transfer: Transfer) -> None:
    source, before, after = transfer.arrays(2)
    firsts = transfer.firsts(DDR, OCM + GUARD)
    code = patched(program_of(transfer), *firsts)
    ends = transfer.addresses(DDR, OCM + GUARD)
    guard = bytes(range(GUARD))
    memory = {ends[0]: source.tobytes(), ends[1] - GUARD: guard + before.tobytes() + guard}
    ranges = [(ends[1] - GUARD, before.nbytes + 2 * GUARD), (ends[0], source.nbytes)]
    interrupts = 1 << transfer.channel
    done = zynq.run([(transfer.channel, code)], memory, ranges, tmp_path, interrupts)
    assert done.clean
    assert done.interrupts == interrupts
    assert done.ranges[0] == guard + after.tobytes() + guard
    assert done.ranges[1] == source.tobytes()
