"""`pl330-check` against a run of every round, and against an emulated PL-330."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.pl330.programs import PROGRAMS, program
from helpers.pl330.tools import only, parse
from helpers.pl330.zynq import Zynq
from npu_dialect.pl330 import AnyLoopOp, InstructionOp, ProgramOp
from npu_passes.emit.pl330.assemble import code_of
from npu_passes.pl330 import check, flow
from npu_passes.pl330.check import Lines, checked, shared_errors, violations_of
from npu_passes.pl330.controller import Controller
from npu_passes.pl330.flow import Runner, State
from npu_plans.transfers.pages import PAGE

SILICON = Controller()
EMULATED = Controller(mfifo_bytes=4096)
"""A controller with the limits of QEMU's model."""


class EveryRound(Runner):
    """A checker that runs every iteration of every loop, to compare with the shortcut."""

    def rounds(self, op: AnyLoopOp, rounds: int | None, state: State) -> State:
        assert rounds is not None
        body: Sequence[InstructionOp] = op.instructions()
        for _ in range(rounds):
            state = self.run(body, state)
            if state.over:
                break
            if op.while_request is not None and state.request != op.while_request.data:
                break
        return state


def messages(source: ProgramOp, runner: type[Runner]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "Runner", runner)
        return [str(violation) for violation in violations_of(source, SILICON)]


BURSTS = st.builds(
    "pl330.mov ccr src {}x{} inc dst {}x{} inc".format,
    *(st.sampled_from((1, 2, 4, 8)), st.integers(1, 16)) * 2,
)
STEPS = st.one_of(
    st.sampled_from(("pl330.ld", "pl330.st", "pl330.ld pl330.st", "pl330.stz", "pl330.wmb")),
    BURSTS,
    st.builds("pl330.addh {} {}".format, st.sampled_from(("sar", "dar")), st.integers(0, 5000)),
    st.just("pl330.sev 1"),
)
INNER = st.lists(STEPS, min_size=1, max_size=4).map("\n".join)
LOOPS = st.builds("pl330.loop {} {{ {} }}".format, st.integers(1, 40), INNER)
OUTER = st.builds("pl330.loop {} {{ {} {} {} }}".format, st.integers(1, 30), INNER, LOOPS, INNER)
COPIES = st.builds(
    "{}\npl330.mov sar {}\npl330.mov dar {}\n{}".format,
    BURSTS,
    st.integers(0x0020_0000, 0x0020_2000),
    st.integers(0x0040_0000, 0x0040_2000),
    st.lists(st.one_of(STEPS, LOOPS, OUTER), min_size=1, max_size=4).map("\n".join),
)


@settings(max_examples=40, deadline=None)
@given(COPIES)
def test_loops_are_not_run_to_the_end(body: str) -> None:
    source = only(parse(program(body)))
    assert messages(source, Runner) == messages(source, EveryRound)


@settings(max_examples=40, deadline=None)
@given(PROGRAMS)
def test_any_program_is_checked(text: str) -> None:
    """The check raises no exception, and each violation names an instruction of the program."""
    source = only(parse(text))
    for violation in violations_of(source, SILICON):
        assert 0 <= violation.address < source.size
        assert str(violation).startswith("@p, byte 0x")


MOVES = st.builds(
    "pl330.mov ccr src {0}x{1} inc dst {2}x{3} inc".format,
    *(st.sampled_from((1, 2, 4, 8)), st.sampled_from((1, 2, 4, 8, 16))) * 2,
)
PAIRS = st.builds(
    "{}\npl330.mov sar {}\npl330.mov dar {}\npl330.loop {} {{\n{}\n}}\npl330.wmb".format,
    MOVES,
    st.integers(0x0020_0000, 0x0020_0010),
    st.integers(0x0040_0000, 0x0040_0010),
    st.integers(1, 20),
    st.sampled_from(
        (
            "pl330.ld pl330.st",
            "pl330.ld pl330.ld pl330.st",
            "pl330.ld pl330.st pl330.st",
            "pl330.loop 2 { pl330.ld } pl330.st",
            "pl330.ld pl330.st pl330.addh sar 8",
        )
    ),
)
FLOW = ("bytes in the MFIFO, got", "no end with data in the MFIFO")
"""Parts of the messages about mistakes that QEMU's model notices, too."""


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=PAIRS)
def test_emulator_agrees(zynq: Zynq, tmp_path: Path, body: str) -> None:
    """QEMU reports a fault for underflow, overflow and leftover data, and for nothing else."""
    source = only(parse(program(body)))
    found = [violation.message for violation in violations_of(source, EMULATED)]
    wrong = any(part in message for message in found for part in FLOW)
    done = zynq.run([(0, code_of(source))], {}, [], tmp_path)
    assert done.clean is not wrong, found


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 7, 8, 11, 254, 255, 256])
def test_states_that_come_back(rounds: int) -> None:
    """The place in a page repeats every 4 rounds; after 3 more, the burst crosses a page."""
    body = f"""
      pl330.mov ccr src 8x16 inc dst 8x16 inc
      pl330.mov sar 0x00200000
      pl330.mov dar 0x00400000
      pl330.loop {rounds} {{ pl330.addh sar 1024 }}
      pl330.addh sar 960
      pl330.ld
      pl330.st"""
    found = violations_of(only(parse(program(body))), SILICON)
    assert [violation.message for violation in found] == (
        ["expected a burst within 4096 bytes, got 128 bytes at 4032 of a page"]
        if rounds % 4 == 3
        else []
    )


@pytest.mark.parametrize("rounds", [2, 3, 100, 256])
@pytest.mark.parametrize("late", [0, 8])
def test_the_last_round(rounds: int, late: int) -> None:
    """All rounds end at most where the page does; 8 bytes later, the last one crosses it."""
    body = f"""
      pl330.mov ccr src 8x3 inc dst 8x3 inc
      pl330.mov sar {0x200000 + 2 * PAGE - 24 * rounds + late}
      pl330.mov dar 0x00400000
      pl330.loop {rounds} {{ pl330.ld pl330.addh dar 4072 pl330.st pl330.addh dar 8168 }}"""
    found = violations_of(only(parse(program(body))), SILICON)
    loads = [str(violation) for violation in found if "DMALD" in str(violation)]
    assert len(loads) == (late > 0 or 24 * rounds > PAGE)


def test_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MOST_STEPS", 100)
    body = f"pl330.mov sar 0 pl330.loop 256 {{ pl330.addh sar 1 {'pl330.nop ' * 5} }}"
    (violation,) = violations_of(only(parse(program(body))), Controller(bus_bytes=128))
    assert "not checked" in violation.message


TILES = "pl330.loop 256 {{ pl330.loop 256 {{ pl330.ld pl330.st {} }} {} }}"


@pytest.mark.parametrize("beats", ["1x1", "4x1", "4x3", "8x2", "8x16"])
@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("", ""),
        ("pl330.addh sar 20", "pl330.addh sar 736"),
        ("pl330.addh sar 24 pl330.addh dar 40", "pl330.adnh dar -1000"),
        ("pl330.ld pl330.st " * 20, "pl330.addh dar 24"),
    ],
    ids=["dense", "tile", "apart", "unrolled"],
)
def test_65536_rounds_take_no_time(beats: str, inner: str, outer: str) -> None:
    """Less than 0.1 s of CPU, whether the program is right or wrong."""
    burst = f"pl330.mov ccr src {beats} inc dst {beats} inc"
    ends = "pl330.mov sar 0x00100000 pl330.mov dar 0xfffc0000"
    source = only(parse(program(f"{burst} {ends} {TILES.format(inner, outer)}")))
    start = process_time()
    violations_of(source, SILICON)
    assert process_time() - start < 0.1


def lines_of(channel: int, *body: str) -> tuple[int, Lines]:
    """The channel of a program, and the lines that it needs; its bursts are 128 bytes."""
    start = (
        "pl330.mov ccr src 8x16 inc dst 8x16 inc pl330.mov sar 0x100000 pl330.mov dar 0xfffc0000"
    )
    return channel, checked(only(parse(program(" ".join((start, *body))))), SILICON)[1]


LOAD, STORE = "pl330.ld", "pl330.st"


def test_lines() -> None:
    """What a channel holds when it loads again is held while others load."""
    assert lines_of(0, LOAD, STORE)[1] == Lines(static=0, peak=16)
    assert lines_of(0, LOAD, LOAD, STORE, STORE)[1] == Lines(static=0, peak=32)
    assert lines_of(0, LOAD, LOAD, STORE, LOAD, STORE, STORE)[1] == Lines(static=16, peak=32)
    assert lines_of(0, LOAD, "pl330.rmb", LOAD, STORE, STORE)[1] == Lines(static=16, peak=32)


def test_lines_are_shared() -> None:
    """Eight channels that hold 16 lines each have none left to load into."""
    ahead = (LOAD, "pl330.rmb", LOAD, STORE, STORE)
    assert not list(shared_errors([lines_of(each, LOAD, STORE) for each in range(8)], SILICON))
    assert not list(shared_errors([lines_of(each, *ahead) for each in range(7)], SILICON))
    assert not list(shared_errors([lines_of(0, *ahead) for _ in range(99)], SILICON))
    (message,) = shared_errors([lines_of(each, *ahead) for each in range(8)], SILICON)
    assert message.startswith("expected programs that share 128 lines of the MFIFO, got 144: 16 by")
