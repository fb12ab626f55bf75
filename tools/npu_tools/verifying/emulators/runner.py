"""Runs a compiled network on an emulated board; collects outputs, instruction counts and sizes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_dialect.machine import Machine
from npu_tools.verifying.emulators.boards import BOARDS, Board
from npu_tools.verifying.emulators.build import Hook, Sizes, build, measure, need, stack_frames
from npu_tools.verifying.emulators.errors import EmulatorError
from npu_tools.verifying.emulators.interface import Interface

Array = npt.NDArray[Any]

DEFAULT_FLAGS = ("-O2",)

FENCE = 64
"""Bytes before and after each of several arenas that must stay unchanged."""

FENCE_BROKEN = 255
"""What stands for the status of a run that wrote there; see harness.c."""

STACK_MARGIN = 64
"""Bytes of the stack that must stay unused. Painting may miss bytes of a frame that nothing writes
to, so the measured depth can be too small."""


@dataclass(frozen=True)
class EmulatedRun:
    """One call of the network: its outputs by C name, as flat arrays, and its instructions.

    `layers` are the instructions of each layer, if they were asked for. The first count includes
    the instructions from the call to the first layer; those after the last layer are in none.
    """

    outputs: dict[str, Array]
    instructions: int
    layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """All runs of a program on a board (a key of BOARDS); sizes in bytes.

    `stack_bytes` is the deepest use of the stack in the first run, found by painting the stack.
    `frames` are the stack frames of the functions, as the compiler reports them. `log` is what the
    board has printed.
    """

    board: str
    runs: tuple[EmulatedRun, ...]
    sizes: Sizes
    arena_bytes: int
    stack_bytes: int
    frames: dict[str, int]
    log: str

    @property
    def instructions(self) -> int:
        """Instructions of the first run."""
        return self.runs[0].instructions

    @property
    def ram_bytes(self) -> int:
        """RAM in use: initialised data, zeroed data with the arena, and the stack."""
        return self.sizes.data + self.sizes.bss + self.stack_bytes


def run_on(
    machine: str,
    source: Path | Sequence[Path],
    cases: Sequence[Mapping[str, Array]],
    *,
    flags: Sequence[str] = DEFAULT_FLAGS,
    stack_bytes: int = 2048,
    board: str | None = None,
    timeout: float = 120,
    layers: int = 0,
) -> Result:
    """Build a network for a machine and run it once for each case.

    machine: its name or TOML file, as for npu-compile. source: the .c file, or several; the header
    of the first one lies beside it. cases: inputs by C name, of any shape with the right number of
    elements; those of an input in rows in the order of these. flags: for the compiler, after those
    of the machine. stack_bytes: bytes that the linker reserves for the stack. board: a key of
    BOARDS if it is not the machine's name. timeout: in seconds. layers: how many layers the
    network's report has, to count the instructions of each by ID_ON_LAYER; 0 counts none. The count
    itself takes RAM, code and instructions.

    Raises: EmulatorMissing if a tool is not installed; BuildError if the program cannot be built;
    EmulatorError if there is no such board, or if a run fails.
    """
    sources = [source] if isinstance(source, Path) else list(source)
    name = board or Machine.load(machine).name
    if name not in BOARDS:
        raise EmulatorError(f"no emulated board for {name!r}: expected {', '.join(BOARDS)}")
    chosen = BOARDS[name]
    header = sources[0].with_suffix(".h")
    interface = Interface.read(header)
    need(chosen.qemu, chosen.package)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        text = write_cases(interface, header.resolve(), cases)
        (folder / "cases.h").write_text(text, encoding="utf-8")
        hook = Hook(f"{interface.prefix.upper()}_ON_LAYER", layers) if layers else None
        program = build(machine, chosen, sources, folder, flags, stack_bytes, hook)
        log = emulate(chosen, program, timeout)
        runs, stack = parse(chosen, interface, len(cases), log, layers)
        if stack > stack_bytes - STACK_MARGIN:
            raise EmulatorError(f"the stack takes {stack} bytes, of the {stack_bytes} set aside")
        sizes = measure(machine, program)
        frames = stack_frames(folder)
    return Result(name, tuple(runs), sizes, interface.arena_bytes, stack, frames, log)


def write_cases(interface: Interface, header: Path, cases: Sequence[Mapping[str, Array]]) -> str:
    """The C text of cases.h: inputs as constants, and the macros that the harness needs.

    Raises: EmulatorError if an input has a wrong number of elements.
    """
    lines = [f'#include "{header}"', f"#define CASES {len(cases)}"]
    lines += arena_lines(interface)
    for argument in interface.inputs:
        lines.append(
            '__attribute__((section(".cases"))) _Alignas(16) static const unsigned char '
            f"case_{argument.name}[CASES][{argument.nbytes}] = {{"
        )
        for case in cases:
            array = np.ascontiguousarray(case[argument.name], dtype=argument.dtype)
            if array.size != argument.elements:
                raise EmulatorError(
                    f"expected {argument.elements} elements for {argument.name}, got {array.size}"
                )
            lines.append("{" + ",".join(str(byte) for byte in array.tobytes()) + "},")
        lines.append("};")
    loads = "".join(
        f" memcpy({argument.place}, case_{argument.name}[number], {argument.nbytes});"
        if argument.offset is not None
        else f" rows = case_{argument.name}[number];"
        for argument in interface.inputs
    )
    pointers = "".join(
        f"({'const ' if argument.is_input else ''}{argument.c_type} *)"
        + (f"(void *)({argument.place}), " if argument.offset is not None else "rows, ")
        for argument in interface.arguments
    )
    reports = "".join(
        f" print_bytes({argument.place}, {argument.nbytes});" for argument in interface.outputs
    )
    if interface.whole:
        lines += ["static const void *rows;", interface.whole]
    arenas = ", ".join(interface.arenas)
    reset = f" {interface.prefix}_reset({arenas});" if interface.has_states else ""
    reset += f" (void){interface.prefix}_init({arenas});" if interface.has_copies else ""
    lines.append(f"#define LOAD(number){reset}{loads}")
    lines.append(f"#define CALL() {interface.prefix}_run({pointers}{arenas})")
    lines.append(f"#define REPORT(){reports}")
    return "\n".join(lines) + "\n"


def arena_lines(interface: Interface) -> list[str]:
    """The lines of cases.h that declare the arenas.

    Arenas in several memories each have a section of their own, and fences of FENCE bytes.
    """
    if list(interface.arenas) == ["arena"]:
        return [f"#define ARENA_BYTES {interface.arena_bytes}"]
    lines: list[str] = []
    poison = broken = ""
    for name, size in interface.arenas.items():
        whole = f"memory_{name}"
        lines.append(
            f'__attribute__((section(".{whole}"))) _Alignas(16) static unsigned char '
            f"{whole}[{size + 2 * FENCE}];"
        )
        lines.append(f"#define {name} ({whole} + {FENCE})")
        poison += f" memset({whole}, 0xA5, sizeof {whole});"
        broken += f" | broken({whole}, {FENCE}) | broken({name} + {size}, {FENCE})"
    return [*lines, f"#define POISON(){poison}", f"#define BROKEN() (0{broken})"]


def emulate(board: Board, program: Path, timeout: float) -> str:
    """Run a program to its end and return what it printed.

    Raises: EmulatorError if it traps, exits with another code than 0, or does not end in time.
    """
    command = board.command(str(program))
    try:
        run = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise EmulatorError(f"{board.machine}: no end after {timeout:.0f} s") from None
    log = run.stdout.decode("ascii", "replace")
    if run.returncode:
        tail = (log[-400:] + run.stderr.decode("utf-8", "replace")).strip()
        raise EmulatorError(f"{board.machine}: exit code {run.returncode}: {tail}")
    return log


def parse(
    board: Board, interface: Interface, cases: int, log: str, layers: int = 0
) -> tuple[list[EmulatedRun], int]:
    """Parse a board's output: the runs, and the bytes of stack that the first run used.

    Raises: EmulatorError if a run failed, or if the output is incomplete.
    """
    lines = iter(log.splitlines())
    runs: list[EmulatedRun] = []
    first_stack = 0
    for number in range(cases):
        status, ticks, wrapped, stack = (int(word, 16) for word in _words(lines, "run", 4))
        if status == FENCE_BROKEN:
            raise EmulatorError(f"{interface.prefix}_run wrote outside of its arenas")
        if status:
            raise EmulatorError(f"{interface.prefix}_run returned {status} in case {number}")
        if wrapped:
            raise EmulatorError("too many instructions for the board's clock")
        counts = tuple(int(word, 16) for word in _words(lines, "layers", layers)) if layers else ()
        outputs: dict[str, Array] = {}
        for argument in interface.outputs:
            (text,) = _words(lines, "out", 1)
            outputs[argument.name] = np.frombuffer(bytes.fromhex(text), dtype=argument.dtype)
        runs.append(EmulatedRun(outputs, board.instructions(ticks), counts))
        first_stack = first_stack or stack
    return runs, first_stack


def _words(lines: Iterator[str], kind: str, count: int) -> list[str]:
    """The `count` words after the word `kind` in the next line.

    Raises: EmulatorError if the line is another one.
    """
    words = next(lines, "").split()
    if len(words) != count + 1 or words[0] != kind:
        raise EmulatorError(f"expected a line {kind!r} from the board, got {' '.join(words)!r}")
    return words[1:]
