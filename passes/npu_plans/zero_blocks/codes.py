"""Which code a map moves in: as it is, in blocks without those of zeros, or as bit planes.

Bit planes are those of runs of 16 bytes of a row; an idea of L. Cavigelli et al., *EBPC: Extended
Bit-Plane Compression for Deep Neural Network Inference and Training Accelerators*. No IR in here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

AS_IT_IS, BLOCKS, PLANES = "as it is", "zero blocks", "bit planes"


@dataclass(frozen=True)
class Cost:
    """What a code costs for each byte of a map, in one direction.

    `moved`: the bytes that cross the bus, with the index. `cycles`: those of the core.
    """

    moved: float
    cycles: Fraction = Fraction()

    def time(self, bytes_per_cycle: Fraction) -> float:
        """Cycles for a byte of the map, if the core waits for all that moves."""
        return self.moved / float(bytes_per_cycle) + float(self.cycles)


PLAIN = Cost(1.0)
"""A map that moves as it is."""


def best(costs: Mapping[str, Cost], bytes_per_cycle: Fraction) -> str:
    """The code that costs the least, of equal ones the first.

    With `bytes_per_cycle` of 0 only bytes count, else time.
    """
    if not bytes_per_cycle:
        return min(costs, key=lambda code: costs[code].moved)
    return min(costs, key=lambda code: costs[code].time(bytes_per_cycle))


def moved_share(kept: float, element_bits: int, elements: int, index_bits: int) -> float:
    """Bytes that move for each byte of a map: those that are `kept`, and the index.

    A block has so many `elements` and bits of the index.
    """
    return kept + index_bits / (element_bits * elements)


def plane_zero(zero_point: int, middle: int) -> int:
    """The zero of bit planes for a map with this zero point: 0 or `middle`, which is -128 or 128.

    The nearer one, counted modulo 256: so a ReLU's map that begins at the least integer has no
    negative differences, and signed maps have small ones.
    """
    return middle if 64 <= zero_point % 256 < 192 else 0
