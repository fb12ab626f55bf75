"""Runs a program whose input arrives in rows as one that takes it as a whole.

    int net_begin(void *arena);
    int net_push_rows(const int8_t *image, int32_t n, void *arena);
    int net_finish(int8_t *scores, void *arena);

becomes, by some C that is put in front of a program,

    static int net_run(const int8_t *image, int8_t *scores, void *arena)

It pushes 1 row, then 2, 3, ... The elements of the input are in the order of its rows then: row by
row, and in each row channel by channel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_dialect.stream_attributes import STREAM_PARTS

WHOLE = """\
static int {name}_run({parameters})
{{
    int32_t done = 0, n = 1;
    int status = {name}_begin({begin});
    for (; status == 0 && done < {macro}_ROWS; done += n++) {{
        n = n < {macro}_ROWS - done ? n : {macro}_ROWS - done;
        status = {name}_push_rows({rows} + done * ({macro}_ELEMENTS / {macro}_ROWS), n{more});
    }}
    return status != 0 ? status : {name}_finish({finish});
}}
"""


@dataclass(frozen=True)
class Streamed:
    """The functions of a program whose input arrives in rows: the parameters of each, as text."""

    name: str
    begin: tuple[str, ...]
    push: tuple[str, ...]
    finish: tuple[str, ...]

    @staticmethod
    def of(header: str) -> Streamed | None:
        """Read the prototypes in a header; None if the program has ID_run."""
        found: dict[str, tuple[str, ...]] = {}
        name = ""
        for part in STREAM_PARTS:
            match = re.search(rf"^int (\w+)_{part}\(([^)]*)\);", header, re.MULTILINE)
            if match is None or re.search(rf"^int {match[1]}_run\(", header, re.MULTILINE):
                return None
            name, texts = match[1], match[2].split(",")
            found[part] = tuple(" ".join(text.split()) for text in texts)
        return Streamed(name, *(found[part] for part in STREAM_PARTS))

    @property
    def parameters(self) -> str:
        """The parameters of a function that takes the input as a whole."""
        return ", ".join((self.push[0], *self.finish))

    @property
    def macro(self) -> str:
        """The start of the names of the input's macros."""
        return f"{self.name}_{words(self.push[0])}".upper()

    def whole(self) -> str:
        """C of a function ID_run that takes the input as a whole, row by row."""
        return WHOLE.format(
            name=self.name,
            macro=self.macro,
            parameters=self.parameters,
            rows=words(self.push[0]),
            begin=", ".join(map(words, self.begin)),
            more="".join(f", {words(text)}" for text in self.push[2:]),
            finish=", ".join(map(words, self.finish)),
        )


def words(parameter: str) -> str:
    """The name in the text of a parameter."""
    return re.findall(r"\w+", parameter)[-1]


def whole_run(header: str) -> str:
    """C of a function ID_run that pushes the rows of the input; empty if the program has ID_run."""
    streamed = Streamed.of(header)
    return "" if streamed is None else streamed.whole()


def in_rows(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Inputs [..., C, H, W] in the order in which their rows arrive: [..., H, C, W]."""
    return np.ascontiguousarray(np.swapaxes(values, -3, -2))
