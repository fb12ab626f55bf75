"""Writes the first held-out digits as a C header: camera pictures, and what they show.

    python examples/zynq/pictures.py HELDOUT.npz PICTURES.h

The pictures have dark ink on light paper, as a camera sees it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

COUNT = 4


def header(images: NDArray[np.uint8], labels: NDArray[np.integer]) -> str:
    """The text of the header."""
    rows = [", ".join(map(str, (255 - image).ravel().tolist())) for image in images]
    pictures = ",\n".join(f"    {{{row}}}" for row in rows)
    return (
        f"#include <stdint.h>\n\n#define PICTURES {len(rows)}\n\n"
        f"static const unsigned labels[PICTURES] = {{{', '.join(map(str, labels.tolist()))}}};\n"
        f"static const uint8_t pictures[PICTURES][{images[0].size}] = {{\n{pictures}}};\n"
    )


def main() -> None:
    """Read the first file, write the second."""
    source, target = sys.argv[1:]
    with np.load(source) as held:
        text = header(held["images"][:COUNT], held["labels"][:COUNT])
    Path(target).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
