"""The C interface of a compiled network, read from its header.

#define LENET5_ARENA_BYTES 8800
#define LENET5_INPUT_OFFSET 0
#define LENET5_INPUT_ELEMENTS 1024
int lenet5_run(const float *input, float *output, void *arena);

A program whose input arrives in rows has no offset for it, and other functions: `streamed.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npu_tools.verifying.emulators.errors import EmulatorError
from npu_tools.verifying.streamed import Streamed

TYPES = {
    "float": np.float32,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
    "int16_t": np.int16,
    "int32_t": np.int32,
}
"""C types of inputs and outputs."""


@dataclass(frozen=True)
class Argument:
    """An input or output: its C name and type, its byte offset in the arena, its elements.

    An input in rows lies outside of the arena, and has no offset.
    """

    name: str
    c_type: str
    is_input: bool
    offset: int | None
    elements: int

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of one element."""
        return np.dtype(TYPES[self.c_type])

    @property
    def nbytes(self) -> int:
        """Size of the whole array in bytes."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class Interface:
    """How to call a network: `prefix`_run(arguments in this order, arena)."""

    prefix: str
    arena_bytes: int
    arguments: tuple[Argument, ...]
    has_states: bool = False
    """Whether `prefix`_reset(arena) must be called before the first run."""
    whole: str = ""
    """The C of `prefix`_run if the input arrives in rows: the program has none then."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The arguments that the network reads."""
        return tuple(argument for argument in self.arguments if argument.is_input)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arguments that the network writes."""
        return tuple(argument for argument in self.arguments if not argument.is_input)

    @staticmethod
    def read(header: Path) -> Interface:
        """Read a header that npu-compile wrote.

        Raises: EmulatorError if the function or one of its macros is missing, or if a parameter has
        an unknown type.
        """
        text = header.read_text(encoding="utf-8")
        streamed = Streamed.of(text)
        run = re.search(r"^int (\w+)_run\(([^)]*)\);", text, re.MULTILINE)
        if streamed is not None:
            prefix, parameters = streamed.name, streamed.parameters
        elif run is not None:
            prefix, parameters = run[1], run[2]
        else:
            raise EmulatorError(f"{header}: no function ID_run(...) in this header")
        macros = {
            match[1]: int(match[2], 0)
            for match in re.finditer(
                rf"^#define {prefix.upper()}_(\w+)\s+\(?(\w+?)[uUlL]*\)?\s*(?:/\*.*)?$",
                text,
                re.MULTILINE,
            )
            if match[2].isdigit()
        }
        arguments = [_argument(header, each.strip(), macros) for each in parameters.split(",")[:-1]]
        if "ARENA_BYTES" not in macros:
            raise EmulatorError(f"{header}: no macro {prefix.upper()}_ARENA_BYTES")
        has_states = f"void {prefix}_reset(" in text
        whole = "" if streamed is None else streamed.whole()
        return Interface(prefix, macros["ARENA_BYTES"], tuple(arguments), has_states, whole)


def _argument(header: Path, text: str, macros: dict[str, int]) -> Argument:
    """Parse one parameter of the function, such as `const float *input` or `float *output`.

    Raises: EmulatorError if its type is unknown, or if a macro of its is missing.
    """
    match = re.fullmatch(r"(const )?(\w+) \*(?:restrict )?(\w+)", " ".join(text.split()))
    if match is None or match[2] not in TYPES:
        raise EmulatorError(f"{header}: cannot supply the parameter {text!r} of the network")
    upper = match[3].upper()
    in_rows = f"{upper}_ROWS" in macros
    for macro in (f"{upper}_OFFSET", f"{upper}_ELEMENTS"):
        if macro not in macros and not (in_rows and macro.endswith("_OFFSET")):
            raise EmulatorError(f"{header}: no macro that ends in _{macro} for {match[3]!r}")
    return Argument(
        match[3],
        match[2],
        match[1] is not None,
        macros.get(f"{upper}_OFFSET"),
        macros[f"{upper}_ELEMENTS"],
    )
