"""Reads the element types and scales of inputs and outputs from the header of emitted C.

    #define NET_IMAGE_SCALE 0.0078430f
    #define NET_IMAGE_ZERO_POINT -1
    int net_run(const int8_t *image, float *scores, void *arena);

A port with a scale holds quantised integers, where the model itself has real numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.verifying.streamed import Streamed

Array = npt.NDArray[Any]

TYPES = {
    "float": "float32",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": "int16",
    "int32_t": "int32",
}
"""Element types by their C name."""


@dataclass(frozen=True)
class Port:
    """One input or output: its C type, and how its integers become real numbers."""

    ctype: str
    scale: float | None = None
    zero_point: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the elements."""
        return np.dtype(TYPES[self.ctype])

    def stored(self, values: Array) -> Array:
        """Convert numbers of the model to what the C program reads: integers if it has a scale."""
        if self.scale is None:
            return values.astype(self.dtype)
        limits = np.iinfo(self.dtype)
        steps = np.rint(values.astype(np.float32) / np.float32(self.scale)) + self.zero_point
        return np.clip(steps, limits.min, limits.max).astype(self.dtype)

    def real(self, values: Array) -> npt.NDArray[np.float32]:
        """Convert what the C program wrote to float32 numbers of the model."""
        if self.scale is None:
            return values.astype(np.float32)
        steps = values.astype(np.int64) - self.zero_point
        return steps.astype(np.float32) * np.float32(self.scale)


def ports_of(header: str, count: int) -> list[Port]:
    """The ports for the first `count` parameters of ID_run, from the text of a header.

    The first one is the input in rows if the program has ID_push_rows instead.
    """
    streamed = Streamed.of(header)
    run = re.search(r"^int (\w+)_run\(([^)]*)\);", header, re.MULTILINE)
    if streamed is not None:
        name, parameters = streamed.name, streamed.parameters
    else:
        assert run is not None, "every header has its function"
        name, parameters = run[1], run[2]
    ports: list[Port] = []
    for text in parameters.split(",")[:count]:
        match = re.fullmatch(r"(?:const )?(\w+) \*(?:restrict )?(\w+)", " ".join(text.split()))
        assert match is not None, text
        macro = f"{name}_{match[2]}".upper()
        scale = re.search(rf"^#define {macro}_SCALE (\S+?)f?$", header, re.MULTILINE)
        point = re.search(rf"^#define {macro}_ZERO_POINT \(?(-?\d+)\)?$", header, re.MULTILINE)
        if scale is None or point is None:
            ports.append(Port(match[1]))
        else:
            ports.append(Port(match[1], float(np.float32(float(scale[1]))), int(point[1])))
    return ports
