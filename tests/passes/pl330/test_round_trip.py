"""Assembly is a round trip, and foreign bytes are read, or rejected with one message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import PassFailedException

from helpers.pl330.programs import PROGRAMS, REFERENCE, REFERENCE_BYTES
from helpers.pl330.tools import assembled, only, parse
from npu_passes.emit.pl330.assemble import code_of
from npu_passes.emit.pl330.target import assembly_text, hex_text
from npu_tools.importers.pl330 import read_programs
from npu_tools.shared.errors import UserError

NPU_OPT = Path(sys.executable).parent / "npu-opt"

WORDS = st.sampled_from([0x00, 0x04, 0x08, 0x20, 0x22, 0x28, 0x2C, 0x38, 0x3C, 0x34, 0xBC, 0x01])


def test_reference() -> None:
    assert assembled(REFERENCE) == REFERENCE_BYTES
    back = read_programs(REFERENCE_BYTES, "tile")
    assert str(back) == str(parse(REFERENCE))


@settings(max_examples=40, deadline=None)
@given(PROGRAMS)
def test_ir_to_bytes_to_ir(text: str) -> None:
    module = parse(text)
    try:
        data = code_of(only(module))
    except PassFailedException:
        assume(False)
        return
    back = read_programs(data, "p")
    assert code_of(only(back)) == data
    again = parse(str(back))
    assert str(again) == str(back)
    assert str(read_programs(hex_text(only(module)).encode(), "x")) == str(back)
    # Only the counter may differ: it is not printed if the assembler would choose the same.
    assert [op.name for op in only(back).code()] == [op.name for op in only(module).code()]


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS | st.integers(0, 255), max_size=40).map(bytes))
def test_any_bytes(data: bytes) -> None:
    """Bytes that can be read assemble to the same bytes; all others give one message."""
    data += b"\x00"
    message = ""
    try:
        again = code_of(only(read_programs(data, "p")))
    except UserError as error:
        message = str(error)
    else:
        assert again == data
    assert not message or "not microcode of a PL-330: " in message
    assert "\n" not in message


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 8 * len(REFERENCE_BYTES) - 1))
def test_flipped_bits(bit: int) -> None:
    data = bytearray(REFERENCE_BYTES)
    data[bit // 8] ^= 1 << bit % 8
    try:
        module = read_programs(bytes(data), "p")
    except UserError:
        return
    assert code_of(only(module)) == data


@pytest.mark.parametrize("length", range(len(REFERENCE_BYTES)))
def test_truncated(length: int) -> None:
    with pytest.raises(UserError, match="not microcode of a PL-330"):
        read_programs(REFERENCE_BYTES[:length], "p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ff 00", "byte 0x0000: 0xff is no instruction"),
        ("04 38 01 00", "byte 0x0001: DMALPEND without DMALP"),
        ("20 01 04 3c 01 00", "DMALPEND of counter 1 in a loop of counter 0"),
        ("20 01 04 38 02 00", "DMALPEND jumps to 0x0001, the loop's body is at 0x0002"),
        ("20 01 22 01 20 01 00", "three counted loops around each other"),
        ("22 04 04", "the loop at byte 0x0000 has no DMALPEND"),
        ("28 07 00", "jumps to -0x007, where no instruction of its loop is"),
        ("bc 01 25 40 09 00 2c 03 00", "jumps to 0x0003, where no instruction of its loop is"),
        ("04 22 01 2c 03 3c 02 00", "jumps to 0x0000, where no instruction of its loop is"),
        ("2c 00 2c 02 00", "a loop forever around a loop forever"),
        ("bc 03 00 00 00 00 00", "DMAMOV to register 3, which does not exist"),
        ("bc 01 00 00 00 80 00", "expected a CCR without reserved bits, got 0x80000000"),
        ("34 01 00", "reserved bits in 0x01"),
        ("36 04 00", "reserved bits in 0x04"),
        ("a0 08 00 00 00 00 00", "reserved bits in 0x08"),
        ("a0 01 00 00 00 00 00", "expected pl330.go in a program of the manager"),
        ("bc 01", "the code ends 4 bytes too early"),
        ("04", "expected pl330.end as the last instruction"),
        ("00 00", "expected nothing behind pl330.end"),
        ("0 0", "expected [name:] bytes in hex, two digits each, [# channel N]"),
        ("00 # channel 9", "expected the channel to be 0 to 7, got 9"),
        ("a: 00\na: 00", "line 2: a second program a"),
        ("# nothing", "there is no program"),
        ("", "there is no program"),
    ],
)
def test_rejected(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_programs(text.encode(), "p")
    assert message in str(error.value)


def test_names_and_threads() -> None:
    text = b"# \xc3\xb4\r\n00\n\n  x.y : 1800#channel 5, x\n00 # manager\n18\t00 # channels\n"
    module = str(read_programs(text, "1 file"))
    heads = [line.strip() for line in module.splitlines() if "program" in line]
    assert heads == [
        "pl330.program @_1_file channel 0 {",
        "pl330.program @x.y channel 5 {",
        "pl330.program @_1_file_5 manager {",
        "pl330.program @_1_file_6 channel 0 {",
    ]


def npu_opt(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(NPU_OPT), str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_npu_opt_reads_both_extensions(tmp_path: Path) -> None:
    raw, text = tmp_path / "tile.bin", tmp_path / "tile.pl330"
    raw.write_bytes(REFERENCE_BYTES)
    text.write_text(f"tile: {REFERENCE_BYTES.hex()}\n", encoding="utf-8")
    first = npu_opt(raw, "-f", "pl330", "-p", "pl330-check", "-t", "pl330-hex")
    second = npu_opt(text, "-t", "pl330-hex")
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout == second.stdout == f"tile: {REFERENCE_BYTES.hex(' ')}  # channel 0\n"


def test_npu_opt_has_one_message(tmp_path: Path) -> None:
    path = tmp_path / "wild.pl330"
    path.write_text("28 07 00\n", encoding="utf-8")
    done = npu_opt(path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{path}: line 1: not microcode of a PL-330: byte 0x0000: DMALPEND" in done.stderr


def test_loop_too_long() -> None:
    with pytest.raises(PassFailedException, match="expected a loop of at most 255 bytes, got 258"):
        assembled(
            "pl330.program @p channel 0 { pl330.loop 2 { "
            + "pl330.mov sar 0 " * 43
            + "} pl330.end }"
        )


def test_loops_are_indented() -> None:
    """The indent is four blanks for the program, and four for each loop."""
    lines = assembly_text(only(parse(REFERENCE))).splitlines()
    blanks = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines}
    assert (blanks["DMAMOV"], blanks["DMALD"], blanks["DMAEND"]) == (4, 12, 4)
