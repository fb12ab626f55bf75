"""The part of a buffer that a view can show, over all iterations of the loops around it.

    scf.for %i = %c0 to %c7 step %c1 {
      %first = arith.muli %i, %c4
      %rows = memref.subview %map[0, 0, %first, 0] [1, 8, 4, 16] [1, 1, 1, 1]
    }

Rows 0 to 27 of %map: ((0, 1), (0, 8), (0, 28), (0, 16)).
"""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.ir import Block, SSAValue

from npu_passes.analysis.affine_index import Linear, constant_of, extents
from npu_passes.analysis.views import viewed_by
from npu_passes.support.loop_builder import memref_type


def box_of(view: SSAValue) -> tuple[tuple[int, int], ...] | None:
    """For each axis of a view's buffer the first index and the end (excluded) of what it shows.

    None if the view is all of its buffer, or if its part is not known.
    """
    places: list[tuple[int, int]] | None = None
    sizes: list[int] = []
    while (whole := viewed_by(view)) is not None:
        found = extents(view.owner) if isinstance(view.owner, memref.SubviewOp) else None
        if found is None or len(memref_type(view).get_shape()) != len(found):
            return None
        known = [each for first, _ in found if (each := range_of(first)) is not None]
        if len(known) != len(found):
            return None
        sizes = sizes or [size for _, size in found]
        before = places or [(0, 0)] * len(found)
        places = [(a + c, b + d) for (a, b), (c, d) in zip(known, before, strict=True)]
        view = whole
    if places is None:
        return None
    return tuple((low, high + size) for (low, high), size in zip(places, sizes, strict=True))


def range_of(index: Linear) -> tuple[int, int] | None:
    """The smallest and the largest value of an index; None if it is not known."""
    low = high = index.constant
    for value, factor in index.factors.items():
        found = values_of(value)
        if found is None:
            return None
        ends = (factor * found[0], factor * found[1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def values_of(value: SSAValue) -> tuple[int, int] | None:
    """The smallest and the largest value of the variable of a loop with constant bounds."""
    if not isinstance(value.owner, Block):
        return None
    loop = value.owner.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not loop.body.block.args[0]:
        return None
    first, end, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if first is None or end is None or step is None or step < 1 or end <= first:
        return None
    return first, first + (end - first - 1) // step * step
