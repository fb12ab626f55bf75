"""Constants in several read-only memories, from the model to C: on the host, and on a board."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from helpers.onnx_models import chain, numbers
from helpers.random_onnx import random_model
from npu_dialect.interpreters import run_function
from npu_tools.commands import compile as command
from npu_tools.compiling.check import MeaningCheck, random_inputs
from npu_tools.compiling.driver import Job, compile_model, prepare
from npu_tools.compiling.plan_check import PlanCheck
from npu_tools.importers.frontends import load
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on, runner
from npu_tools.verifying.verify import verify

BOARD = """\
name = "board"
registers = 16
clock_hz = 1000000
macs_per_cycle = {{ f32 = 0.5, i8 = 0.5 }}
{engine}
[[memory]]
name = "ram"
bytes = 4000000
read_bytes_per_cycle = 8
[[memory]]
name = "rom"
bytes = {rom}
read_bytes_per_cycle = 4
read_only = true
[[memory]]
name = "xip"
bytes = {xip}
read_bytes_per_cycle = 0.5
read_only = true
"""

ENGINE = "dma_channels = 1\ndma_bytes_per_cycle = 4\ndma_setup_cycles = 10\ndma_element = 1"


def board(folder: Path, rom: int, xip: int = 4000000, engine: str = "") -> str:
    """The file of a machine with two read-only memories."""
    path = folder / "board.toml"
    path.write_text(BOARD.format(rom=rom, xip=xip, engine=engine), encoding="utf-8")
    return str(path)


def saved(folder: Path) -> Path:
    """The file of a chain of layers."""
    path = folder / "net.onnx"
    path.write_bytes(chain().SerializeToString())
    return path


def test_what_a_user_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The memories are in the table and in report.json; less of the fast one takes more cycles."""
    out, cycles = tmp_path / "out", list[int]()
    for rom in (4000000, 300):
        options = ["--target", board(tmp_path, rom), "-o", str(out)]
        assert command.main([str(saved(tmp_path)), *options]) == 0
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        cycles.append(report["time"]["cycles"])
    said = capsys.readouterr().out
    parts = {each["memory"]: each for each in report["stored_constants"]}
    assert [each["available"] for each in parts.values()] == [300, 4000000]
    assert 0 < parts["rom"]["bytes"] <= 300
    assert sum(each["bytes"] for each in parts.values()) == report["stored_bytes"]
    for name, part in parts.items():
        assert f"  of it in {name}: {part['bytes']} of {part['available']} bytes\n" in said
    assert cycles[0] < cycles[1]
    text = (out / "net.c").read_text(encoding="utf-8")
    for name, part in parts.items():
        sections = set(re.findall(rf"\] NET_{name.upper()}_SECTION = ", text))
        assert len(sections) == 1
        assert text.count(sections.pop()) == len(part["constants"])


def test_constants_that_fit_into_no_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All bytes are fewer than those of both memories; one message says what each has."""
    whole = compile_model(Job(saved(tmp_path), board(tmp_path, 4000000))).report.stored_bytes
    assert whole is not None
    half = whole * 53 // 100
    assert command.main([str(saved(tmp_path)), "--target", board(tmp_path, half, half)]) == 1
    said = capsys.readouterr().err
    assert "the constants do not fit into the read-only memories of board:" in said
    assert len(re.findall(rf"  \w+: \d+ bytes needed, {half} available", said)) == 2
    assert "Traceback" not in said
    file = ["--weights", "bin", "--target", board(tmp_path, whole - 100, whole - 100)]
    assert command.main([str(saved(tmp_path)), *file]) == 1
    assert "the constants, which are one block, do not fit" in capsys.readouterr().err


def test_a_file_of_weights_lies_in_one_memory(tmp_path: Path) -> None:
    """The fast memory is too small for the file, so all constants lie in the other one."""
    job = Job(saved(tmp_path), board(tmp_path, 300), weights="bin")
    (part,) = compile_model(job).report.stored_constants
    assert part.memory == "xip"


def test_one_read_only_memory_has_one_section(tmp_path: Path) -> None:
    """The macro is that of a machine without a table of memories."""
    path = Path(board(tmp_path, 4000000))
    head, _, _ = path.read_text(encoding="utf-8").rpartition("[[memory]]")
    path.write_text(head, encoding="utf-8")
    done = compile_model(Job(saved(tmp_path), str(path)))
    assert "NET_WEIGHTS_SECTION" in str(done.files["net.c"])
    assert not done.report.stored_constants
    assert "stored_constants" not in done.report.as_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"keep_constants": True}, {"weights": "bin"}, {"stream_input": True}]
)
def test_each_pass_keeps_the_meaning(options: dict[str, Any], tmp_path: Path) -> None:
    """After each pass the meaning and the plan are checked, and the C against onnxruntime."""
    checks = (
        ()
        if "stream_input" in options
        else (
            MeaningCheck([numbers(1, 3, 8, 8)]),
            PlanCheck(),
        )
    )
    target = board(tmp_path, 300)
    job = replace(Job(saved(tmp_path), target, observers=checks), **options)
    assert verify(compile_model(job), None, 0).close


@pytest.mark.slow
def test_transfers_from_both_memories(tmp_path: Path) -> None:
    """Behind a DMA engine, which memory holds a constant costs nothing."""
    graph, _ = random_model(3)
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.SerializeToString())
    whole = compile_model(Job(path, board(tmp_path, 4000000, engine=ENGINE))).report.stored_bytes
    assert whole is not None
    done = compile_model(Job(path, board(tmp_path, whole * 8 // 10, whole, engine=ENGINE)))
    assert verify(done, None, 3).close


@pytest.mark.slow
def test_sections_apart_on_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The linker puts each constant where its memory is, and the integers are the same."""
    require("mps3-an547")
    path = saved_int8(tmp_path, "resnet8", **TINY["resnet8"])
    file = resources.files("npu_dialect.targets") / "mps3-an547.toml"
    more = '[[memory]]\nname = "qspi"\nbytes = 8388608\nread_bytes_per_cycle = 0.5\n'
    text = file.read_text(encoding="utf-8").replace("bytes = 2097152 ", "bytes = 4096 ")
    text = text.replace("[toolchain]", f"{more}read_only = true\n[toolchain]")
    (tmp_path / "board.toml").write_text(text, encoding="utf-8")
    job = Job(path, str(tmp_path / "board.toml"), io="int8", requantize="fixed")
    module = load(path, {}).module
    prepare(module, job)
    (image,) = random_inputs(module, seed=3)
    (wanted,) = run_function(module, None, [image])
    done = compile_model(job)
    write_files(tmp_path, done.files)
    places, flags = {"code": 0x0110_0000, "qspi": 0x2800_0000}, list[str]()
    for name, start in places.items():
        macro = f"{done.name.upper()}_{name.upper()}_SECTION"
        flags.append(f'-D{macro}=__attribute__((section(".const_{name}")))')
        flags.append(f"-Wl,--section-start=.const_{name}={start:#x}")
    program, emulate = tmp_path / "program.elf", runner.emulate

    def copied(chosen: runner.Board, elf: Path, timeout: float) -> str:
        shutil.copy(elf, program)
        return emulate(chosen, elf, timeout)

    monkeypatch.setattr(runner, "emulate", copied)
    source = tmp_path / f"{done.name}.c"
    result = run_on(job.target, source, [{"image": image}], flags=("-O2", *flags))
    np.testing.assert_array_equal(result.runs[0].outputs["output"], wanted.ravel())
    listed = subprocess.run(
        ["arm-none-eabi-nm", program], capture_output=True, text=True, check=True
    )
    symbols = {words[2]: int(words[0], 16) for words in map(str.split, listed.stdout.splitlines())}
    for part in done.report.stored_constants:
        start = places[part.memory]
        found = [symbols.get(f"{done.name}_{name}") for name in part.constants]
        assert all(at is None or start <= at < start + part.available for at in found)
        assert any(at is not None for at in found)
    assert [part.memory for part in done.report.stored_constants] == ["code", "qspi"]
