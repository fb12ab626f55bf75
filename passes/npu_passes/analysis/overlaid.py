"""Inputs that an output may overwrite while a layer reads them, by what the layer claims.

    npu.conv2d ins(%x, ...) outs(%y : ...) {npu.overlays = array<i64: 0, 3, 640, 640>}

%x may share memory with %y if it starts at least 640 bytes behind it. Or, if the layer runs
backwards, %y may start at least 640 bytes behind %x. Both hold only if %x dies here and %y begins
to live here. `npu-check-overlays` proves such claims on the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import OVERLAYS
from npu_passes.analysis.consumed import Life
from npu_passes.analysis.nests import storage_bytes
from npu_passes.analysis.on_chip import pin_of
from npu_passes.analysis.views import base_of
from npu_plans.arena.problem import Overlay

IMPOSSIBLE = -1
"""Stands for the distance of a layer that cannot run backwards."""


@dataclass(frozen=True)
class Claim:
    """A claim of an op: operand `source` may be overwritten by what is written to `target`.

    `forwards` and `backwards` are distances in bytes; `backwards` is None if the op cannot run
    backwards.
    """

    source: int
    target: int
    forwards: int
    backwards: int | None

    def numbers(self) -> tuple[int, ...]:
        """The claim as it stands in `npu.overlays`."""
        far = IMPOSSIBLE if self.backwards is None else self.backwards
        return self.source, self.target, self.forwards, far


def claims_of(op: Operation) -> list[Claim]:
    """The claims of an op; numbers of operands that it has not are left out."""
    numbers, count = OVERLAYS.get(op) or (), len(op.operands)
    fours = zip(*[iter(numbers)] * 4, strict=False)
    return [
        Claim(source, target, near, None if far == IMPOSSIBLE else far)
        for source, target, near, far in fours
        if 0 <= source < count and 0 <= target < count
    ]


def claimed(points: Mapping[Operation, int], lives: Sequence[Life]) -> Iterator[Overlay]:
    """The pairs of buffers that may overlap by the claims of ops; `points` numbers the ops."""
    place = {each.aliases[0]: index for index, each in enumerate(lives)}
    for op, point in points.items():
        for claim in claims_of(op):
            above = place.get(base_of(op.operands[claim.source]))
            below = place.get(base_of(op.operands[claim.target]))
            if above is None or below is None or above == below:
                continue
            if lives[above].last != point or lives[below].first != point:
                continue
            yield Overlay(below=below, above=above, distance=claim.forwards)
            if claim.backwards is not None:
                yield Overlay(below=above, above=below, distance=claim.backwards)


def distance_of(op: Operation, claim: Claim) -> int | None:
    """Bytes from the start of the output to that of the input; None if they share no memory.

    The same if one of the two has no offset.
    """
    source, target = (base_of(op.operands[each]) for each in (claim.source, claim.target))
    above, below = place_of(source), place_of(target)
    if above is None or below is None:
        return None
    share = above < below + storage_bytes(target) and below < above + storage_bytes(source)
    return above - below if share else None


def place_of(buffer: SSAValue) -> int | None:
    """The offset of a buffer in its memory; None if it has none."""
    owner = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else buffer.owner
    return None if owner is None else pin_of(owner, owner, buffer)
