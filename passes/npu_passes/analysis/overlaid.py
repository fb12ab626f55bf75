"""Inputs that an output may overwrite while a layer reads them, by what the layer claims.

    npu.conv2d ins(%x, ...) outs(%y : ...) {npu.overlays = array<i64: 0, 3, 640, 640>}

%x may share memory with %y if it starts at least 640 bytes behind it. Or, if the layer runs
backwards, %y may start at least 640 bytes behind %x. Both hold only if %x dies here and %y begins
to live here. `npu-check-overlays` proves such claims on the loops.

A loop over rows claims the same of the buffers that it uses. They are numbered in the order of
their first uses in the loop (`row_bytes.py`). As its input dies row by row, %x may even start in
front of %y:

    scf.for %r = ... { ... rows of %x are read, and rows of %y are written ... }
        {npu.overlays = array<i64: 1, 0, -304, -1>}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import OVERLAYS
from npu_passes.analysis.consumed import Life
from npu_passes.analysis.nests import storage_bytes
from npu_passes.analysis.on_chip import pin_of, space_of
from npu_passes.analysis.row_bytes import outer_buffers
from npu_passes.analysis.views import base_of
from npu_plans.arena.problem import Overlay

IMPOSSIBLE = -1
"""Stands for the distance of a layer that cannot run backwards."""
EXACTLY = -2
"""Stands for that of a layer whose input may lie at its other distance only."""


@dataclass(frozen=True)
class Claim:
    """A claim of an op: buffer `source` may be overwritten by what is written to `target`.

    Both are numbers of operands; for a loop, of buffers from outside. `forwards` and `backwards`
    are distances in bytes; `backwards` is None if the op cannot run backwards. With `exact`, the
    buffers may share memory at the distance `forwards` only.
    """

    source: int
    target: int
    forwards: int
    backwards: int | None
    exact: bool = False

    def numbers(self) -> tuple[int, ...]:
        """The claim as it stands in `npu.overlays`."""
        far = IMPOSSIBLE if self.backwards is None else self.backwards
        far = EXACTLY if self.exact else far
        return self.source, self.target, self.forwards, far


def ends_of(op: Operation) -> Sequence[SSAValue]:
    """The buffers to which the numbers in the claims of an op refer."""
    return outer_buffers(op) if isinstance(op, scf.ForOp) else op.operands


def claims_of(op: Operation) -> list[Claim]:
    """The claims of an op; numbers of buffers that it has not are left out."""
    numbers = OVERLAYS.get(op) or ()
    count = len(ends_of(op)) if numbers else 0
    fours = zip(*[iter(numbers)] * 4, strict=False)
    return [
        Claim(source, target, near, None if far < 0 else far, far == EXACTLY)
        for source, target, near, far in fours
        if 0 <= source < count and 0 <= target < count
    ]


def claimed(points: Mapping[Operation, int], lives: Sequence[Life]) -> Iterator[Overlay]:
    """The pairs of buffers that may overlap by the claims of ops; `points` numbers the ops."""
    place = {each.aliases[0]: index for index, each in enumerate(lives)}
    for op, point in points.items():
        claims = claims_of(op)
        if not claims:
            continue
        ends, last = ends_of(op), point + sum(1 for _ in op.walk()) - 1
        for claim in claims:
            above = place.get(base_of(ends[claim.source]))
            below = place.get(base_of(ends[claim.target]))
            if above is None or below is None or above == below:
                continue
            if lives[above].last != last or lives[below].first != point:
                continue
            yield Overlay(below, above, claim.forwards, claim.exact)
            if claim.backwards is not None:
                yield Overlay(below=above, above=below, distance=claim.backwards)


def distance_of(op: Operation, claim: Claim) -> int | None:
    """Bytes from the start of the output to that of the input; None if they share no memory.

    The same if one of the two has no offset.
    """
    ends = ends_of(op)
    return bytes_apart(*(base_of(ends[each]) for each in (claim.source, claim.target)))


def bytes_apart(source: SSAValue, target: SSAValue) -> int | None:
    """Bytes from the start of one buffer to that of another; None if they share no memory.

    The same if one of the two has no offset.
    """
    above, below = place_of(source), place_of(target)
    if above is None or below is None or space_of(source) != space_of(target):
        return None
    share = above < below + storage_bytes(target) and below < above + storage_bytes(source)
    return above - below if share else None


def place_of(buffer: SSAValue) -> int | None:
    """The offset of a buffer in its memory; None if it has none."""
    owner = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else buffer.owner
    return None if owner is None else pin_of(owner, owner, buffer)
