"""The kinds of integration files, and their names on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from npu_tools.integration.arduino import arduino_files
from npu_tools.integration.cmake import cmake_files
from npu_tools.integration.network import MARK, Network
from npu_tools.integration.zephyr import zephyr_files
from npu_tools.shared.errors import UserError

KINDS: Mapping[str, Callable[[Network], dict[str, str]]] = MappingProxyType(
    {"cmake": cmake_files, "zephyr": zephyr_files, "arduino": arduino_files}
)
"""For each kind a function that returns its files: path below the output folder to text."""


def parse_kinds(text: str) -> tuple[str, ...]:
    """Parse a list of kinds with commas; returns each once, in the order of KINDS.

    Raises: UserError if a kind does not exist.
    """
    asked = [word.strip() for word in text.split(",")]
    if wrong := [word for word in asked if word not in KINDS]:
        known = ", ".join(KINDS)
        raise UserError(f"--emit={text}: expected some of {known}, got {wrong[0]!r}")
    return tuple(kind for kind in KINDS if kind in asked)


def integration_files(
    kinds: Sequence[str], name: str, files: Mapping[str, str | bytes], folder: Path
) -> dict[str, str]:
    """The integration files of a compiled network: path below `folder` to text.

    Raises: UserError if there is no C, or if a file that npu-compile did not write would be
    overwritten.
    """
    if not kinds:
        return {}
    if f"{name}.c" not in files:
        raise UserError(f"--emit={','.join(kinds)}: the pipeline ends with a plan: there is no C")
    found: dict[str, str] = {}
    for kind in kinds:
        found |= KINDS[kind](Network(name, files))
    for path in found:
        if not path.endswith((".c", ".h")):
            check_ours(folder / path)
    return found


def check_ours(path: Path) -> None:
    """Check that a path is free, or that npu-compile wrote the file there.

    Raises: UserError if another file is there, or if it cannot be read.
    """
    if not path.is_file():
        return
    try:
        start = path.read_bytes()[:4096].decode("ascii", "replace")
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror}") from None
    if MARK not in start:
        raise UserError(
            f"{path}: --emit would write over a file that npu-compile did not write; "
            "choose another folder with -o"
        )
