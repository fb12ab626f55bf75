"""Splits a run of bytes into bursts: as wide as the addresses allow, with exact heads and tails.

    132 bytes from and to multiples of 8      ->  1 burst of 16 beats of 8 bytes, 1 of 1 beat of 4
    132 bytes from and to 8 n + 4             ->  1 of 1 x 4, 1 of 16 x 8
    132 bytes from 8 n, to 8 n + 4            ->  3 of 11 x 4: beats of 8 fit one side only
    128 bytes from 8 n, to 8 n + 4            ->  2 of 8 x 8 from the source, 16 x 4 to the target

Plain data, no IR. Nothing outside of the run is read or written. If addresses are known only when
the program runs, a burst that is not aligned to its own size may cross a multiple of 4096 bytes,
which AXI forbids. Who writes the addresses into the program cuts it then, as `npu_pl330.c` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import gcd


@dataclass(frozen=True)
class AddressResidue:
    """The known alignment of an address: `residue` modulo `modulus`, a power of 2, in bytes."""

    modulus: int = 1
    residue: int = 0

    def steps(self, strides: Iterable[int]) -> AddressResidue:
        """The known alignment of all addresses that are multiples of `strides` (bytes) away."""
        modulus = gcd(self.modulus, *strides)
        return AddressResidue(modulus, self.residue % modulus)


@dataclass(frozen=True)
class Bursts:
    """`count` bursts of `beats` beats of `beat` bytes; one side may have fewer, wider beats."""

    beat: int
    beats: int
    count: int = 1
    source_beat: int = 0
    """Bytes of a beat on the source side; 0 means `beat`."""
    target_beat: int = 0
    """Bytes of a beat on the target side; 0 means `beat`."""

    @property
    def size(self) -> int:
        """Bytes of a burst."""
        return self.beat * self.beats

    @property
    def sides(self) -> tuple[int, int]:
        """Bytes of a beat on the source side and on the target side."""
        return self.source_beat or self.beat, self.target_beat or self.beat


def bursts_of(
    size: int, source: AddressResidue, target: AddressResidue, bus_bytes: int, longest: int
) -> tuple[Bursts, ...]:
    """The bursts of a run of `size` bytes, in order: as few bursts, then beats, as possible.

    `source` and `target` are the alignments of the run's addresses; `bus_bytes` is the widest beat,
    `longest` the most beats of a burst.
    """
    widest = gcd(source.modulus, target.modulus, 1 << bus_bytes.bit_length() - 1)
    while (source.residue - target.residue) % widest:
        widest //= 2
    choices = [
        _with_beat(size, source.residue, 1 << power, longest)
        for power in reversed(range(widest.bit_length()))
    ]
    return tuple(_widened(min(choices, key=_cost), source, target, bus_bytes))


def _widened(
    bursts: Iterable[Bursts], source: AddressResidue, target: AddressResidue, bus_bytes: int
) -> Iterator[Bursts]:
    """The same bursts, with wider beats on a side that is aligned better than the other."""
    offset = 0
    for each in bursts:
        beats: list[int] = []
        for place in (source, target):
            beat = each.beat
            while (
                2 * beat <= min(bus_bytes, place.modulus)
                and (place.residue + offset) % (2 * beat) == 0
                and each.size % (2 * beat) == 0
            ):
                beat *= 2
            beats.append(0 if beat == each.beat else beat)
        yield replace(each, source_beat=beats[0], target_beat=beats[1])
        offset += each.size * each.count


def _cost(bursts: tuple[Bursts, ...]) -> tuple[int, int, int]:
    count = sum(each.count for each in bursts)
    return count, sum(each.count * each.beats for each in bursts), len(bursts)


def _with_beat(size: int, residue: int, beat: int, longest: int) -> tuple[Bursts, ...]:
    """The bursts of a run if the bytes between its head and tail move in beats of `beat` bytes."""
    head = min(size, -residue % beat)
    beats, tail = divmod(size - head, beat)
    middle: list[Bursts] = []
    count = -(-beats // longest)
    if count and beats % count == 0:
        middle = [Bursts(beat, beats // count, count)]
    elif count:
        middle = [Bursts(beat, longest, count - 1), Bursts(beat, beats - longest * (count - 1))]
    return (*_pieces(residue, head, longest), *middle, *_pieces(0, tail, longest))


def _pieces(residue: int, size: int, longest: int) -> tuple[Bursts, ...]:
    """Bursts for a head or tail of less than a beat, of the widest beats to which it is aligned."""
    if not size:
        return ()
    beat = gcd(residue, size) & -gcd(residue, size)
    return _with_beat(size, 0, beat, longest)
