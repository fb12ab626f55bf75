"""Measures the worst-case stack of emitted C with the machine's own compiler.

gcc writes the frame of each function and the calls between functions (`-fcallgraph-info=su`). The
result is the deepest call path from the run function. The stack of library functions is read from
their machine code (library_stack.py). Functions for which that fails count 0 bytes and are named.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npu_dialect.machine import Toolchain
from npu_dialect.stream_attributes import STREAM_PARTS
from npu_tools.verifying.library_stack import library_stack

FLAGS = (
    *("-std=c99", "-O2", "-ffunction-sections", "-fdata-sections"),
    *("-S", "-fcallgraph-info=su", "-fno-schedule-insns2"),
)
"""The flags with which the C is meant to be built, as others give other frames, and the options for
the call graph. Nobody reads the assembly code, so it need not be assembled, nor put into the order
that is best for the pipeline, which gcc does when all frames are known."""
VALUES = re.compile(r"^static (const \w+ \w+\[\d+\] \w+) = \{\n(?:    .*\n){64,}\};$", re.MULTILINE)
"""An array of weights with at least 64 lines of values. Parsing these takes longer than compiling
the rest, and no frame depends on them: gcc folds only short arrays into code."""

NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
FRAME = re.compile(r"\\n(\d+) bytes \(")
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


@dataclass(frozen=True)
class StackUse:
    """The bytes of stack; None if they are not known, with a reason.

    `without` are the functions whose stack is not in the sum.
    """

    bytes: int | None
    reason: str = ""
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The bytes with the functions left out, or `not measured: REASON`."""
        if self.bytes is None:
            return f"not measured: {self.reason}"
        more = f", and what {', '.join(self.without)} may take" if self.without else ""
        return f"{self.bytes} bytes{more}"


@dataclass(frozen=True)
class CallGraph:
    """Frames in bytes, and the functions that each function calls.

    `foreign` are the functions whose frames are not known.
    """

    frames: Mapping[str, int]
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    foreign: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> CallGraph:
        """Parse a call graph as gcc writes it, in the format VCG."""
        found = {title: FRAME.search(label) for title, label in NODE.findall(text)}
        frames = {title: int(frame[1]) if frame else 0 for title, frame in found.items()}
        foreign = tuple(title for title, frame in found.items() if frame is None)
        calls: dict[str, tuple[str, ...]] = {}
        for source, target in EDGE.findall(text):
            calls[source] = (*calls.get(source, ()), target)
        return CallGraph(frames, calls, foreign)

    def using(self, library: Mapping[str, int]) -> CallGraph:
        """The same graph with frames for library functions that were not known."""
        foreign = tuple(name for name in self.foreign if name not in library)
        return CallGraph({**self.frames, **library}, self.calls, foreign)

    def deepest(self, name: str) -> int:
        """The bytes of stack on the deepest call path from a function; there is no recursion."""
        below = (self.deepest(each) for each in dict.fromkeys(self.calls.get(name, ())))
        return self.frames.get(name, 0) + max(below, default=0)


def measure_stack(files: Mapping[str, str | bytes], name: str, target: str) -> StackUse:
    """The worst-case stack of `name_run` on a machine, if the machine's compiler is installed.

    It is that of the deepest function if there is one for each part of a run.

    Raises: MachineError if there is no such machine, or if its file is wrong.
    """
    toolchain, source = Toolchain.load(target), files.get(f"{name}.c")
    if toolchain is None:
        return StackUse(None, "the target names no compiler")
    if source is None:
        return StackUse(None, "planned only")
    compiler = shutil.which(toolchain.compiler)
    if compiler is None:
        return StackUse(None, f"no {toolchain.compiler}")
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        for file in (each for each in files if each.endswith((".c", ".h"))):
            text = VALUES.sub(r"extern \1;", str(files[file]))
            Path(folder, file).write_text(text, encoding="utf-8")
        command = [compiler, *toolchain.flags, *FLAGS, f"{name}.c", "-o", f"{name}.s"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        written = Path(folder, f"{name}.ci")
        if done.returncode or not written.exists():
            return StackUse(None, f"{toolchain.compiler} cannot say")
        graph = CallGraph.parse(written.read_text(encoding="utf-8"))
    graph = graph.using(library_stack(toolchain, compiler, graph.foreign))
    deepest = max(graph.deepest(f"{name}_{part}") for part in ("run", *STREAM_PARTS))
    return StackUse(deepest, without=tuple(sorted(graph.foreign)))
