"""Maps of pools in tests: their types, and the windows over them."""

from __future__ import annotations

from hypothesis import strategies as st

PAIR = st.tuples(st.integers(1, 4), st.integers(1, 4))
"""Rows and columns of a kernel, or its steps."""
PADS = st.tuples(*[st.integers(0, 2)] * 4)
"""Rows and columns of padding: top, left, bottom, right."""


def map_type(
    shape: tuple[int, ...], element: str, gap: int, *, planes: bool, space: str = ""
) -> str:
    """The type of a map [N, C, H, W], with channels last and a gap behind them, or in planes.

    `space`: its memory space as text, with a comma in front.
    """
    images, channels, height, width = shape
    pitch = channels + gap
    steps = [height * width * pitch, 1, width * pitch, pitch]
    if planes:
        steps = [channels * height * width, height * width, width, 1]
    sizes = "x".join(map(str, (images, channels, height, width)))
    return f"memref<{sizes}x{element}, strided<[{', '.join(map(str, steps))}]>{space}>"
