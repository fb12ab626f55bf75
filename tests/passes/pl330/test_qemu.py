"""Microcode on an emulated PL-330: the destination and the bytes around it are compared.

Each program passes `pl330-check` as well: emulated hardware forgives what the checker does not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.pl330.tools import only, parse
from helpers.pl330.zynq import Outcome, Zynq
from npu_passes.emit.pl330.assemble import code_of
from npu_passes.pl330.check import violations_of
from npu_passes.pl330.controller import Controller

DDR = 0x0010_0000
OCM = 0xFFFC_0000
GUARD = 64
"""Bytes before and behind a destination."""


def noise(size: int, seed: int) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8).tobytes()


def code(body: str, channel: int = 0) -> tuple[int, bytes]:
    """A program's channel and its bytes, after pl330-check has accepted it."""
    program = only(parse(f"pl330.program @p channel {channel} {{\n{body}\npl330.end\n}}"))
    assert violations_of(program, Controller()) == ()
    return channel, code_of(program)


def copy(
    zynq: Zynq,
    folder: Path,
    *bodies: tuple[int, bytes],
    source: bytes,
    size: int,
    interrupts: int = 0,
) -> tuple[bytearray, Outcome]:
    """Run; returns the destination as it was before, with its guards, and the outcome.

    The source lies at DDR. The destination of `size` bytes lies behind a guard at OCM.
    """
    before = bytearray(noise(size + 2 * GUARD, 99))
    ranges = [(OCM, len(before)), (DDR, len(source))]
    memory = {DDR: source, OCM: bytes(before)}
    done = zynq.run(bodies, memory, ranges, folder, interrupts)
    assert done.ranges[1] == source
    return before, done


def expect(done: Outcome, before: bytearray, interrupts: int = 0) -> None:
    """Check the registers, the destination and its guards."""
    assert done.clean, done
    assert done.interrupts == interrupts
    assert done.ranges[0] == bytes(before)


def test_reference_tile(zynq: Zynq, tmp_path: Path) -> None:
    """The tile is 5x7x3 values at (3, 11, 2) of a map 20x30x8: height, width, channels."""
    whole = np.frombuffer(noise(20 * 30 * 8 * 4, 1), np.uint32).reshape(20, 30, 8)
    start = 4 * ((3 * 30 + 11) * 8 + 2)
    before, done = copy(
        zynq,
        tmp_path,
        code(f"""
          pl330.mov ccr src 4x3 inc dst 4x3 inc
          pl330.mov sar {DDR + start}
          pl330.mov dar {OCM + GUARD}
          pl330.loop 5 {{
            pl330.loop 7 {{ pl330.ld pl330.st pl330.addh sar 20 }}
            pl330.addh sar 736
          }}
          pl330.wmb
          pl330.sev 0"""),
        source=whole.tobytes(),
        size=5 * 7 * 3 * 4,
        interrupts=1,
    )
    before[GUARD:-GUARD] = whole[3:8, 11:18, 2:5].tobytes()
    expect(done, before, interrupts=1)


def test_rows_of_237_bytes(zynq: Zynq, tmp_path: Path) -> None:
    """Bursts of 128, 104, 4 and 1 bytes: CCR changes in the loop for the rest of a row."""
    rows, pitch = 6, 240
    source = noise(rows * pitch, 2)
    part = "pl330.mov ccr src {0} inc dst {0} inc pl330.ld pl330.st"
    before, done = copy(
        zynq,
        tmp_path,
        code(f"""
          pl330.mov sar {DDR}
          pl330.mov dar {OCM + GUARD}
          pl330.loop {rows} {{
            {" ".join(part.format(burst) for burst in ("8x16", "8x13", "4x1", "1x1"))}
            pl330.addh sar 3
            pl330.addh dar 3
          }}"""),
        source=source,
        size=rows * pitch,
    )
    for row in range(rows):
        at = row * pitch
        before[GUARD + at : GUARD + at + 237] = source[at : at + 237]
    expect(done, before)


def test_scatter(zynq: Zynq, tmp_path: Path) -> None:
    """A tile goes into a larger map, its rows backwards (ADDH and ADNH of DAR)."""
    height, width, tall, wide = 4, 6, 9, 16
    tile = np.frombuffer(noise(height * width * 8, 3), np.uint64).reshape(height, width)
    last = 8 * (6 * wide + 5)
    before, done = copy(
        zynq,
        tmp_path,
        code(f"""
          pl330.mov ccr src 8x{width} inc dst 8x1 inc
          pl330.mov sar {DDR}
          pl330.mov dar {OCM + GUARD + last}
          pl330.loop {height} {{
            pl330.ld
            pl330.loop {width} {{ pl330.st pl330.addh dar 8 }}
            pl330.adnh dar {-8 * (wide + 2 * width)}
          }}"""),
        source=tile.tobytes(),
        size=8 * tall * wide,
    )
    into = np.frombuffer(bytes(before[GUARD:-GUARD]), np.uint64).reshape(tall, wide).copy()
    for row in range(height):
        into[6 - row, 5 : 5 + 2 * width : 2] = tile[row]
    before[GUARD:-GUARD] = into.tobytes()
    expect(done, before)


def test_65536_rounds(zynq: Zynq, tmp_path: Path) -> None:
    source = noise(65536, 4)
    before, done = copy(
        zynq,
        tmp_path,
        code(f"""
          pl330.mov ccr src 1x1 inc dst 1x1 inc
          pl330.mov sar {DDR}
          pl330.mov dar {OCM + GUARD}
          pl330.loop 256 {{ pl330.loop 256 {{ pl330.ld pl330.st }} }}
          pl330.wmb
          pl330.sev 3"""),
        source=source,
        size=65536,
        interrupts=0b1000,
    )
    before[GUARD:-GUARD] = source
    expect(done, before, interrupts=0b1000)


@pytest.mark.parametrize("waits_first", [False, True])
def test_two_channels(zynq: Zynq, tmp_path: Path, waits_first: bool) -> None:
    """The second channel copies the output of the first, whichever starts first."""
    source = noise(256, 5)
    move = "pl330.mov sar {} pl330.mov dar {} pl330.mov ccr src 8x16 inc dst 8x16 inc "
    loop = "pl330.loop 2 { pl330.ld pl330.st } pl330.wmb "
    first = code(move.format(DDR, OCM + GUARD) + loop + "pl330.sev 8", 0)
    second = code(
        move.format(OCM + GUARD, OCM + GUARD + 256) + "pl330.wfe 8 " + loop + "pl330.sev 2", 1
    )
    pair = (second, first) if waits_first else (first, second)
    before, done = copy(zynq, tmp_path, *pair, source=source, size=512, interrupts=0b100)
    before[GUARD:-GUARD] = source + source
    expect(done, before, interrupts=0b100)


def test_forever_until_nobody_signals(zynq: Zynq, tmp_path: Path) -> None:
    """An endless program does its work once for one event, and waits for the next."""
    source = noise(64, 6)
    server = """
      pl330.program @server channel 3 {
        pl330.mov ccr src 8x4 inc dst 8x4 inc
        pl330.mov sar 0x00100000
        pl330.mov dar 0xfffc0040
        pl330.loop_forever { pl330.wfe 9 pl330.ld pl330.st pl330.wmb pl330.sev 2 }
      }"""
    program = only(parse(server))
    assert violations_of(program, Controller()) == ()
    before, done = copy(
        zynq,
        tmp_path,
        (3, code_of(program)),
        code("pl330.sev 9", 1),
        source=source,
        size=64,
        interrupts=0b100,
    )
    before[GUARD : GUARD + 32] = source[:32]
    assert done.ranges[0] == bytes(before)
    assert (done.fsrc, done.fsrd, done.interrupts) == (0, 0, 0b100)
    assert done.states == (0, 0, 0, 4, 0, 0, 0, 0)  # 4: waits for an event


def test_checker_is_stricter_than_the_emulator(zynq: Zynq, tmp_path: Path) -> None:
    """What overflows silicon's MFIFO passes in QEMU, whose MFIFO is four times as large."""
    text = f"""
      pl330.program @p channel 0 {{
        pl330.mov ccr src 8x16 inc dst 8x16 inc
        pl330.mov sar {DDR}
        pl330.mov dar {OCM + GUARD}
        pl330.loop 9 {{ pl330.ld }}
        pl330.loop 9 {{ pl330.st }}
        pl330.end
      }}"""
    program = only(parse(text))
    (violation,) = violations_of(program, Controller())[:1]
    assert str(violation).endswith("expected at most 1024 bytes in the MFIFO, got 1152")
    source = noise(9 * 128, 7)
    before, done = copy(zynq, tmp_path, (0, code_of(program)), source=source, size=9 * 128)
    before[GUARD:-GUARD] = source
    expect(done, before)


def test_faults_are_seen(zynq: Zynq, tmp_path: Path) -> None:
    """A store without a load is a fault. This shows that the other tests would notice faults."""
    bad = bytes.fromhex("bc0100000000bc0000001000bc020000fcff0800")
    _, done = copy(zynq, tmp_path, (0, bad), source=noise(64, 8), size=64)
    assert not done.clean
    assert (done.fsrc, done.states[0]) == (1, 0xF)
