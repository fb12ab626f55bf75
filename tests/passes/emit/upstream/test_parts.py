"""Programs that are called more than once: LLVM's object computes what our C computes."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.c_harness import write_files
from helpers.onnx_models import model, node, numbers
from helpers.paths import ROOT
from helpers.road import c_files
from helpers.upstream import PREFIX, needs_llvm
from npu_passes.emit.c import CFiles
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.driver import Job
from npu_tools.compiling.printer import ir_text
from npu_tools.verifying.upstream import Backend, build_object, compile_for_upstream
from npu_tools.verifying.upstream_adapter import adapter, public_names

LENET5 = ROOT / "examples" / "lenet5" / "lenet5.onnx"
SHARED = ("gcc", "-shared", "-fPIC", "-std=c99", "-O1", "-o", "net.so", "net.c")
PIC = Backend(("-O2", "-fPIC"))


class Program:
    """A program as a shared library, with an arena of its own."""

    def __init__(self, folder: Path, files: CFiles, *objects: Path) -> None:
        folder.mkdir()
        write_files(folder, files, PREFIX)
        command = [*SHARED, *map(str, objects), "-lm"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        self.library = ctypes.CDLL(str(folder / "net.so"))
        self.arena = np.full(files.arena_bytes + 16, 0xA5, np.uint8)
        self.start = self.arena.ctypes.data + -self.arena.ctypes.data % 16

    def call(self, part: str, *arguments: NDArray[Any] | int) -> None:
        """Call a function; the arena comes behind the arguments."""
        function = self.library[f"{PREFIX}_{part}"]
        words = [
            each if isinstance(each, int) else ctypes.c_void_p(each.ctypes.data)
            for each in arguments
        ]
        status = function(*words, ctypes.c_void_p(self.start))
        assert part == "reset" or status == 0


def programs(folder: Path, job: Job) -> tuple[Program, Program]:
    """A model as our C, and as LLVM's object."""
    compiled, module = compile_for_upstream(job, ToUpstreamPass())
    files, built = c_files(compiled), folder / "upstream.o"
    build_object(ir_text(module), public_names(module), built, PIC)
    theirs = replace(files, source=adapter(module, PREFIX, files.header))
    return Program(folder / "ours", files), Program(folder / "theirs", theirs, built)


def test_states(tmp_path: Path) -> None:
    """A recurrent layer that gets one frame a run, twice from the start."""
    needs_llvm()
    weights = {"w": numbers(1, 15, 4), "r": numbers(1, 15, 5, seed=1)}
    layer = node("GRU", "x w r", "y", hidden_size=5, name="gru")
    proto = model([layer], {"x": (1, 1, 4)}, weights=weights, opset=14)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    job = Job(tmp_path / "net.onnx", "host", PREFIX, weights="c", keep_state=("gru",))
    ours, theirs = programs(tmp_path, job)
    seen: list[NDArray[Any]] = []
    for _ in range(2):
        ours.call("reset")
        theirs.call("reset")
        for frame in numbers(3, 4, seed=5):
            one, other = np.zeros(5, np.float32), np.zeros(5, np.float32)
            ours.call("run", frame.copy(), one)
            theirs.call("run", frame.copy(), other)
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-5)
            seen.append(one)
    np.testing.assert_array_equal(seen[0], seen[3])  # from zero again
    assert np.abs(seen[1] - seen[0]).max() > 1e-3


@pytest.mark.slow
def test_input_in_rows(tmp_path: Path) -> None:
    needs_llvm()
    ours, theirs = programs(tmp_path, Job(LENET5, "host", PREFIX, weights="c", stream_input=True))
    image = np.random.default_rng(3).standard_normal((32, 32)).astype(np.float32)
    found: list[NDArray[Any]] = []
    for program in (ours, theirs):
        scores = np.zeros(10, np.float32)
        program.call("begin")
        for start in range(0, 32, 4):
            program.call("push_rows", image[start:].copy(), 4)
        program.call("finish", scores)
        found.append(scores)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-5 * np.abs(found[0]).max())
    assert found[0].std() > 0.1
