"""`make demo`: LeNet-5 from ONNX to C in 16 KB. It prints every command, so that you can repeat it.

It compiles the network with the installed tools, and shows its memory table and the IR before and
after the fuse pass. It builds the C with the host's compiler and runs it on the held-out digits, as
camera pictures (dark ink on white paper) that `image.c` turns into inputs.

Needs numpy and a C compiler. With onnxruntime installed, its scores are compared too.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
HERE = "examples/lenet5"
MODEL = f"{HERE}/lenet5.onnx"
BUILD = "build/lenet5"
FLAGS = "-std=c99 -O2 -Wall -Wextra -Werror -pedantic".split()
INKS = " .:-=+*#%@"

Pictures = NDArray[np.uint8]
Labels = NDArray[np.int64]
Scores = NDArray[np.float32]


class DemoError(Exception):
    """A command has failed; its own message is on the screen already."""


@dataclass(frozen=True)
class Shell:
    """Runs commands in the checkout and remembers them."""

    history: list[str] = field(default_factory=list[str])

    def run(self, *command: str, stdin: str = os.devnull) -> str:
        """Print a command, run it with a file as its standard input, and return what it prints.

        Raises: DemoError if the command fails or does not exist.
        """
        line = shlex.join(command) + (f" < {stdin}" if stdin != os.devnull else "")
        self.history.append(line)
        print(f"$ {line}", flush=True)
        try:
            with (ROOT / stdin).open("rb") as data:
                done = subprocess.run(command, cwd=ROOT, stdin=data, stdout=subprocess.PIPE)
        except FileNotFoundError:
            raise DemoError(f"{command[0]}: not found") from None
        if done.returncode:
            raise DemoError(f"{command[0]}: exit code {done.returncode}")
        return done.stdout.decode()

    def tool(self, name: str, *arguments: str) -> str:
        """Run a tool of this project."""
        place = Path(sys.executable).parent / name
        if place.is_relative_to(ROOT):
            place = place.relative_to(ROOT)
        return self.run(str(place), *arguments)


def heading(text: str) -> None:
    """Print the title of a step."""
    print(f"\n== {text}\n")


def layers_of(text: str) -> str:
    """The functions of an IR text, without the weights."""
    lines = text.splitlines()
    first = next(index for index, line in enumerate(lines) if "func.func" in line)
    last = max(index for index, line in enumerate(lines) if line.startswith("  }"))
    return "\n".join(line for line in lines[first : last + 1] if "arith.constant" not in line)


def show_fusion(shell: Shell) -> None:
    """Print the IR before and after the fuse pass."""
    heading("The network as imported (weights left out), and behind the fuse pass")
    print(layers_of(shell.tool("npu-opt", MODEL, "--elide-weights")), end="\n\n")
    fused = shell.tool("npu-opt", MODEL, "-p", "npu-fuse-conv-relu-pool", "--elide-weights")
    print(layers_of(fused))


def compile_network(shell: Shell) -> None:
    """Compile for a microcontroller of 16 KB; the tool prints the layers and the memory table."""
    heading("To C for the FE310, a RISC-V microcontroller with 16 KB")
    print(shell.tool("npu-compile", MODEL, "--target", "fe310", "-o", BUILD), end="")


def classify(shell: Shell, pictures: Pictures) -> Scores:
    """Build the C and run it on camera pictures [N, 32, 32]; returns the scores [N, 10].

    Raises: DemoError if a printed answer is not the digit with the best score.
    """
    heading("Build and run")
    sources = [f"{HERE}/main.c", f"{HERE}/image.c", f"{BUILD}/lenet5.c"]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    binary = f"{BUILD}/lenet5"
    shell.run(*compiler, *FLAGS, f"-I{BUILD}", *sources, "-o", binary)
    (ROOT / BUILD / "camera.bin").write_bytes(pictures.tobytes())
    text = shell.run(binary, stdin=f"{BUILD}/camera.bin")
    table = np.array([line.split() for line in text.splitlines()], dtype=np.float64)
    scores = table[:, 1:].astype(np.float32)
    if len(scores) != len(pictures) or np.any(table[:, 0] != scores.argmax(axis=1)):
        raise DemoError(f"{binary}: answers and scores do not fit")
    return scores


def show_accuracy(scores: Scores, pictures: Pictures, labels: Labels) -> None:
    """Print how many answers are right, and how much the scores differ from onnxruntime's."""
    wrong = np.flatnonzero(scores.argmax(axis=1) != labels)
    right = len(labels) - len(wrong)
    print(f"\n{right} of {len(labels)} held-out digits right ({right / len(labels):.2%})")
    for index in wrong:
        print(f"  digit {index} is a {labels[index]}; answered {scores[index].argmax()}")
    try:
        expected = reference_scores(pictures)
    except ImportError:
        print("onnxruntime is not installed: scores not compared with it")
        return
    same = int((scores.argmax(axis=1) == expected.argmax(axis=1)).sum())
    error = np.abs(scores - expected).max(axis=1) / np.abs(expected).max(axis=1)
    print(f"onnxruntime gives the same answer for {same} of {len(labels)}")
    print(f"largest difference of a score: {error.max():.1e} of the picture's largest score")


def reference_scores(pictures: Pictures) -> Scores:
    """The scores [N, 10] that onnxruntime computes for camera pictures [N, 32, 32].

    Raises: ImportError if onnxruntime is not installed.
    """
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(ROOT / MODEL, providers=["CPUExecutionProvider"])
    ink = 255 - pictures.astype(np.int64)
    inputs = (np.where(ink < 100, 0, ink) / np.float32(255)).astype(np.float32)
    return np.concatenate([session.run(None, {"image": one[None, None]})[0] for one in inputs])


def show_digits(scores: Scores, pictures: Pictures, count: int = 3) -> None:
    """Draw the first digits with their answers; a character is 4 rows and 2 columns of pixels."""
    ink = 255 - pictures[:count].astype(np.int64)
    cells = ink.reshape(count, 8, 4, 16, 2).mean(axis=(2, 4)) * (len(INKS) - 1) / 255
    print()
    for row in range(8):
        print("   ".join("".join(INKS[round(c)] for c in cells[n, row]) for n in range(count)))
    print("   ".join(f"{f'answer: {scores[n].argmax()}':16}" for n in range(count)))


def demo() -> None:
    """Run all steps, then print the commands."""
    shell = Shell()
    with np.load(ROOT / HERE / "heldout.npz") as held:
        pictures: Pictures = 255 - held["images"]
        labels: Labels = held["labels"].astype(np.int64)
    show_fusion(shell)
    compile_network(shell)
    scores = classify(shell, pictures)
    show_accuracy(scores, pictures, labels)
    show_digits(scores, pictures)
    heading("What ran, in the root of the checkout: repeat it, and change it")
    print("\n".join(shell.history))


def main(arguments: Sequence[str]) -> int:
    """Run the demo: 0, or 1 when a command fails."""
    if arguments:
        print("usage: python examples/lenet5/demo.py", file=sys.stderr)
        return 1
    try:
        demo()
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
