"""Runs tests of the onnx package through emitted C, many programs in one shared library.

Each program runs in a process of its own, so a program that crashes is noticed as such.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import DiagnosticException

from helpers.onnx_suites.cases import Case
from helpers.onnx_suites.verdicts import quiet
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.shared.errors import UserError
from npu_tools.verifying.ports import ports_of

Array = npt.NDArray[Any]

RIGHT = "right"
FLAGS = "-std=c99 -O0 -Wall -Wextra -Werror -fPIC -shared".split()
SECONDS = 60
"""How long one program may run."""
FENCE = 64
"""Bytes behind the arena and each output that must stay as they are."""


@dataclass(frozen=True)
class Program:
    """A compiled test; `compiled` is None if a pass refused it, with the message in `refusal`."""

    case: Case
    compiled: Compiled | None
    refusal: str = ""


def results(cases: Sequence[Case]) -> list[str]:
    """For each test `right`, or what is wrong with its C program.

    Raises: AssertionError if the C compiler prints a message.
    """
    with tempfile.TemporaryDirectory() as place, quiet():
        folder = Path(place)
        programs = [compiled(case, f"t{index}", folder) for index, case in enumerate(cases)]
        library = built(folder, [each.compiled for each in programs if each.compiled])
        return [
            result(each.case, outputs_of(each.compiled, each.case, library, folder))
            if each.compiled
            else f"refused: {each.refusal}"
            for each in programs
        ]


def compiled(case: Case, name: str, folder: Path) -> Program:
    """Compile a test for this computer, and write its C into a folder."""
    path = folder / f"{name}.onnx"
    path.write_bytes(case.model.SerializeToString())
    try:
        made = compile_model(Job(path, "host", weights="c"))
    except (UserError, DiagnosticException) as error:
        return Program(case, None, str(error).partition("\n")[0])
    for file, text in made.files.items():
        (folder / file).write_text(str(text))
    return Program(case, made)


def built(folder: Path, made: Sequence[Compiled]) -> Path:
    """Build one shared library of all programs."""
    library = folder / "programs.so"
    sources = [f"{each.name}.c" for each in made]
    command = ["gcc", *FLAGS, *sources, "-o", library.name, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return library


def outputs_of(made: Compiled, case: Case, library: Path, folder: Path) -> list[Array] | str:
    """The outputs of a program in the model's order, or a text if it fails."""
    file = folder / "outputs.npz"
    file.unlink(missing_ok=True)
    failure = in_child(lambda: np.savez(file, *called(made, case, library)))
    if failure:
        return failure
    with np.load(file) as stored:
        return [stored[name] for name in stored.files]


def in_child(work: Callable[[], None]) -> str:
    """Do some work in a child process; returns a text if that fails."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            work()
        except Exception:  # whatever it is, the parent only has to know that there was one
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        return f"crashed: {signal.Signals(-code).name}"
    return f"failed: exit code {code}" if code else ""


def called(made: Compiled, case: Case, library: Path) -> Iterator[Array]:
    """Call the function of a program; returns its outputs.

    Raises: AssertionError if it returns an error or writes behind its memory.
    """
    header = str(made.files[f"{made.name}.h"])
    shapes = made.report.outputs
    ports = ports_of(header, len(made.report.inputs) + len(shapes))
    count = len(made.report.inputs)
    given = [
        np.ascontiguousarray(case.inputs[name], port.dtype)
        for name, port in zip(made.report.inputs, ports)
    ]
    sizes = [
        int(np.prod(shape)) * port.dtype.itemsize
        for port, shape in zip(ports[count:], shapes.values(), strict=True)
    ]
    memory = [fenced(size) for size in (*sizes, made.report.arena_bytes)]
    run = getattr(ctypes.CDLL(str(library)), f"{made.name}_run")
    assert run(*(ctypes.c_void_p(each.ctypes.data) for each in (*given, *memory))) == 0
    for each in memory:
        assert (each[-FENCE:] == 0xA5).all(), "it wrote behind its memory"
    for each, port, shape in zip(memory, ports[count:], shapes.values()):
        yield each[:-FENCE].view(port.dtype).reshape(shape)


def fenced(size: int) -> npt.NDArray[np.uint8]:
    """Memory of a size, aligned to 16 bytes, with a fence behind it, all bytes 0xA5."""
    raw = np.full(size + FENCE + 16, 0xA5, np.uint8)
    start = -raw.ctypes.data % 16
    return raw[start : start + size + FENCE]


def result(case: Case, outputs: list[Array] | str) -> str:
    """`right`, or what is wrong with the outputs of a test."""
    if isinstance(outputs, str):
        return outputs
    return compared(case, dict(zip(case.outputs, outputs, strict=True)))


def compared(case: Case, outputs: Mapping[str, Array]) -> str:
    """Compare outputs with the expected ones within the tolerance of the suite.

    NaN and infinities must be where they are expected. Integers may have another width.
    """
    for name, want in case.outputs.items():
        got = outputs[name]
        if got.shape != want.shape:
            return f"wrong: {name} has shape {list(got.shape)}; expected {list(want.shape)}"
        if (got.dtype.kind in "biu") != (want.dtype.kind in "biu"):
            return f"wrong: {name} holds {got.dtype}; expected {want.dtype}"
        numbers = (array.astype(np.float64) for array in (got, want))
        if not np.allclose(*numbers, rtol=case.rtol, atol=case.atol, equal_nan=True):
            return f"wrong: {name} differs from what is expected"
    return RIGHT
