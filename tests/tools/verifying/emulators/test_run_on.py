"""The harness for emulated boards, with a network written by hand."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from helpers.emulated import require
from npu_tools.verifying.emulators import (
    BOARDS,
    BuildError,
    EmulatorError,
    EmulatorMissing,
    Interface,
    run_on,
)

HERE = Path(__file__).parent
TINY = HERE / "tiny.c"

WEIGHT = np.array(
    [
        [(-1) ** i * (i + 1) for i in range(16)],
        [0.5, 0.25, 0.125, *[0] * 12, 1],
        [-1] * 16,
        [(i + 1) / 10 for i in range(16)],
    ],
    dtype=np.float32,
)
BIAS = np.array([0.5, 0, 4, -1], dtype=np.float32)


def tiny(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The result of tiny.c, in numpy."""
    return np.cumsum(np.maximum(WEIGHT @ x + BIAS, 0), dtype=np.float32)


def inputs(count: int) -> list[dict[str, npt.NDArray[np.float32]]]:
    generator = np.random.default_rng(0)
    return [{"input": generator.normal(size=16).astype(np.float32)} for _ in range(count)]


def test_outputs_and_sizes(machine: str) -> None:
    cases = inputs(3)
    result = run_on(machine, TINY, cases)
    for case, run in zip(cases, result.runs, strict=True):
        np.testing.assert_allclose(run.outputs["output"], tiny(case["input"]), rtol=1e-5)
        assert run.instructions > 4 * 16
    assert result.arena_bytes == 96
    # RAM holds the arena, the stack and data of the harness, but no copy of the input.
    assert 96 <= result.sizes.bss <= 96 + 16
    assert result.sizes.data <= 16
    assert 0 < result.stack_bytes < 512
    assert result.ram_bytes == result.sizes.data + result.sizes.bss + result.stack_bytes
    assert result.sizes.rodata >= WEIGHT.nbytes
    assert "tiny_run" in result.frames


def test_counts_are_the_same_every_time(machine: str) -> None:
    case = inputs(1)[0]
    first = run_on(machine, TINY, [case, case])
    second = run_on(machine, TINY, [case])
    assert [run.instructions for run in first.runs] == [second.instructions] * 2
    assert first.stack_bytes == second.stack_bytes


def counted(machine: str, folder: Path, rounds: int) -> int:
    """The counted instructions of a network that is a loop of two instructions."""
    loop = {
        "fe310": "1: addi %0, %0, -1\\n bnez %0, 1b",
        "cortex-m0": "1: sub %0, %0, #1\\n bne 1b",  # gcc's older syntax: sets the flags
    }.get(machine, "1: subs %0, %0, #1\\n bne 1b")
    (folder / "tiny.h").write_text((HERE / "tiny.h").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "tiny.c").write_text(
        '#include "tiny.h"\n'
        "int tiny_run(const float *input, float *output, void *arena) {\n"
        f"  int n = {rounds};\n"
        "  (void)input; (void)output; (void)arena;\n"
        f'  __asm__ volatile("{loop}" : "+r"(n) : : "cc");\n'
        "  return 0;\n"
        "}\n",
        encoding="utf-8",
    )
    return run_on(machine, folder / "tiny.c", inputs(1)).instructions


def test_instructions_are_counted_exactly(machine: str, tmp_path: Path) -> None:
    # Both immediates fit one instruction, so the rest of the call is the same.
    rounds = 250 if machine == "cortex-m0" else 2000
    many, few = counted(machine, tmp_path, rounds), counted(machine, tmp_path, 1)
    assert many - few == 2 * (rounds - 1)
    assert few < 40


@pytest.mark.parametrize("name", list(BOARDS))
def test_ticks_to_instructions(name: str) -> None:
    """The count is exact, whatever part of a tick has passed when the clock is read."""
    board = BOARDS[name]
    for count in (0, 1, 2, 3, 1001, 1_770_920, 600_000_000):
        nanoseconds = count << board.shift
        ticks = nanoseconds // board.tick_ns
        assert board.instructions(ticks) == count
        assert board.instructions(-(-nanoseconds // board.tick_ns)) == count


def test_an_unaligned_access_is_a_fault_where_the_core_has_none(tmp_path: Path) -> None:
    """The emulated Cortex-M3 could run the access, but an M0 cannot."""
    shutil.copy(HERE / "tiny.h", tmp_path)
    (tmp_path / "tiny.c").write_text(
        '#include "tiny.h"\n'
        "int tiny_run(const float *input, float *output, void *arena) {\n"
        "  int word;\n"
        "  (void)output; (void)arena;\n"
        '  __asm__ volatile("ldr %0, [%1]" : "=l"(word) : "l"((const char *)input + 1));\n'
        "  return word & 0;\n"
        "}\n",
        encoding="utf-8",
    )
    assert run_on(require("cortex-m4"), tmp_path / "tiny.c", inputs(1)).instructions > 0
    with pytest.raises(EmulatorError, match="trap "):
        run_on(require("cortex-m0"), tmp_path / "tiny.c", inputs(1))


def test_too_large_an_arena_does_not_link(fe310: str, tmp_path: Path) -> None:
    text = (HERE / "tiny.h").read_text(encoding="utf-8")
    shutil.copy(TINY, tmp_path)
    for arena_bytes in (16384 - 2048 - 96, 16384 - 2048 + 16):
        (tmp_path / "tiny.h").write_text(text.replace("96", str(arena_bytes)), encoding="utf-8")
        if arena_bytes < 16384 - 2048:
            run_on(fe310, tmp_path / "tiny.c", inputs(1))
        else:
            with pytest.raises(BuildError, match=r"region `RAM' overflowed by \d+ bytes"):
                run_on(fe310, tmp_path / "tiny.c", inputs(1))


def test_the_ram_is_that_of_the_machines_file(fe310: str, tmp_path: Path) -> None:
    text = (resources.files("npu_dialect.targets") / f"{fe310}.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("= 16384", "= 2048").replace(fe310, "mine"), encoding="utf-8")
    with pytest.raises(BuildError, match=r"cannot build for mine:\n.*"):
        run_on(str(mine), TINY, inputs(1), board=fe310, stack_bytes=2048)
    result = run_on(str(mine), TINY, inputs(1), board=fe310, stack_bytes=1024)
    assert result.board == fe310


def test_errors_of_a_run(fe310: str) -> None:
    with pytest.raises(EmulatorError, match="tiny_run returned 7 in case 0"):
        run_on(fe310, TINY, inputs(1), flags=["-DFAIL=7"])
    with pytest.raises(EmulatorError, match="no end after 1 s"):
        run_on(fe310, TINY, inputs(1), flags=["-DSPIN"], timeout=1)
    with pytest.raises(EmulatorError, match=r"the stack takes \d+ bytes, of the 128"):
        run_on(fe310, TINY, inputs(1), stack_bytes=128)


def test_a_trap_ends_the_run(machine: str) -> None:
    with pytest.raises(EmulatorError, match=r"exit code 99: .*trap "):
        run_on(machine, TINY, inputs(1), flags=["-O2", "-DTRAP"])


def test_wrong_input_size(fe310: str) -> None:
    with pytest.raises(EmulatorError, match="expected 16 elements for input, got 3"):
        run_on(fe310, TINY, [{"input": np.zeros(3, np.float32)}])


def test_missing_tools_are_named(no_tools: None) -> None:
    with pytest.raises(EmulatorMissing, match="qemu-system-misc"):
        run_on("fe310", TINY, inputs(1))


def test_machine_without_a_board() -> None:
    with pytest.raises(EmulatorError, match="no emulated board for 'host': expected fe310"):
        run_on("host", TINY, inputs(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("int tiny_run", "int tiny_walk"), r"no function ID_run"),
        (("#define TINY_INPUT_OFFSET 0", ""), "no macro that ends in _INPUT_OFFSET for 'input'"),
        (("const float *", "const double *"), "cannot supply the parameter 'const double"),
        (("define TINY_ARENA_BYTES", "define SIZE"), "no macro TINY_ARENA_BYTES"),
    ],
)
def test_header_that_is_none_of_ours(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    header = tmp_path / "tiny.h"
    text = (HERE / "tiny.h").read_text(encoding="utf-8").replace(*change)
    header.write_text(text, encoding="utf-8")
    with pytest.raises(EmulatorError, match=message):
        Interface.read(header)
