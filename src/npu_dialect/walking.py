"""The ops inside of an op, for reading only: faster than xDSL's own walk in large functions.

A lowered network has ten thousand ops and more, of about thirty classes. To ask each op for its
class takes longer than to walk, so `walk_kind` asks each class once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Operation

Op = TypeVar("Op", bound=Operation)


def walk(top: Operation) -> Iterator[Operation]:
    """An op and all ops inside of it, in the order of the text, as `top.walk()` gives them.

    Ops that are added to or removed from a block after its first op was given are not noticed.
    """
    pending = [top]
    while pending:
        op = pending.pop()
        yield op
        if op.regions:
            inner: list[Operation] = []
            for region in op.regions:
                for block in region.blocks:
                    each = block.first_op
                    while each is not None:  # quicker than the iterator of `block.ops`
                        inner.append(each)
                        each = each.next_op
            pending.extend(reversed(inner))


def walk_kind(top: Operation, *kinds: type[Op]) -> Iterator[Op]:
    """Those ops that `walk` gives which are of one of these classes or of a subclass."""
    wanted: dict[type[Operation], bool] = {}
    for op in walk(top):
        kind = type(op)
        if kind not in wanted:
            wanted[kind] = issubclass(kind, kinds)
        if wanted[kind] and isinstance(op, kinds):
            yield op
