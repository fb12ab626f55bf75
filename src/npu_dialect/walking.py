"""The ops inside of an op, for reading only: faster than xDSL's own walk in large functions."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


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
