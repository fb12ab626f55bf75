"""The C interface of a compiled network, read from its header.

#define LENET5_ARENA_BYTES 8800
#define LENET5_INPUT_OFFSET 0
#define LENET5_INPUT_ELEMENTS 1024
int lenet5_run(const float *input, float *output, void *arena);

With several memories there is a pointer, and a macro of its size, for each arena. A program whose
input arrives in rows has no offset for it, and other functions: `streamed.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

HOME = r" in (\w+) \*/\n#define {0}_(\w+)_OFFSET "
"""The arena in which an argument lies, as the comment above its macros says."""


@dataclass(frozen=True)
class Argument:
    """An input or output: its C name and type, its byte offset in its arena, its elements.

    `arena` is the name of the arena's pointer. An input in rows lies outside of the arenas, and has
    no offset.
    """

    name: str
    c_type: str
    is_input: bool
    offset: int | None
    elements: int
    arena: str = "arena"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of one element."""
        return np.dtype(TYPES[self.c_type])

    @property
    def place(self) -> str:
        """C for its address in its arena."""
        return f"{self.arena} + {self.offset}"

    @property
    def nbytes(self) -> int:
        """Size of the whole array in bytes."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class Interface:
    """How to call a network: `prefix`_run(arguments in this order, arenas).

    `arenas`: the bytes of each arena by the name of its pointer, in the order of the pointers.
    """

    prefix: str
    arenas: Mapping[str, int]
    arguments: tuple[Argument, ...]
    has_states: bool = False
    """Whether `prefix`_reset(arenas) must be called before the first run."""
    has_copies: bool = False
    """Whether `prefix`_init(arenas) must be called before the first run."""
    whole: str = ""
    """The C of `prefix`_run if the input arrives in rows: the program has none then."""

    @property
    def arena_bytes(self) -> int:
        """Bytes of all arenas."""
        return sum(self.arenas.values())

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
        texts = [" ".join(each.split()) for each in parameters.split(",")]
        names = [each.removeprefix("void *") for each in texts if each.startswith("void *")]
        for name in names or ["arena"]:
            if f"{name.upper()}_BYTES" not in macros:
                raise EmulatorError(f"{header}: no macro {prefix.upper()}_{name.upper()}_BYTES")
        arenas = {name: macros[f"{name.upper()}_BYTES"] for name in names}
        homes = {match[2]: match[1] for match in re.finditer(HOME.format(prefix.upper()), text)}
        arguments = [
            _argument(header, each, macros, homes)
            for each in texts
            if not each.startswith("void *")
        ]
        has_states = f"void {prefix}_reset(" in text
        whole = "" if streamed is None else streamed.whole()
        has_copies = f"int {prefix}_init(" in text
        return Interface(prefix, arenas, tuple(arguments), has_states, has_copies, whole)


def _argument(
    header: Path, text: str, macros: dict[str, int], homes: Mapping[str, str]
) -> Argument:
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
        homes.get(upper, "arena"),
    )
