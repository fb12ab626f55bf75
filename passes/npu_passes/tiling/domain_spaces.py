"""The loops over tiles of an op of any dialect, from its domain (`npu_dialect/computing.py`).

    linalg.conv_2d_nchw_fchw     (n, f, y, x, c, i, j) -> input (n, c, 2 y + i, 2 x + j)

An operand's axis follows a dimension if its index is that dimension, or if a window slides over it:
a multiple of one dimension, plus a multiple of one over which the op sums. A dimension with another
place in some index is not cut, nor is one that numbers the taps of a window. Nothing is changed.

Loops over sums need no first and last tile, as each tile adds to what the destination holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

from xdsl.ir.affine import AffineExpr

from npu_dialect.computing import Computation, Domain
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_dialect.windows import Axis
from npu_plans.tiles.operand_regions import Along, Cut, Loop, Space, can_cut, even_sizes

CUTS = 500
"""About how many tiles of an op are compared, in each order of loops."""
FEWEST = 2
"""At least so many sizes are tried along each loop."""
PERMUTED = 3
"""The most loops of which all orders are tried."""


@dataclass(frozen=True)
class Index:
    """The index of one axis of `extent` elements: `steps` times the dimensions, plus `shift`.

    `dims`: the dimensions in it. `steps` is None if it is no sum of multiples.
    """

    extent: int
    dims: frozenset[int]
    steps: dict[int, int] | None = None
    shift: int = 0


def domain_space(computation: Computation) -> Space:
    """The loops of an op on buffers; none if it has no domain."""
    domain = computation.domain
    shapes = [
        shape_of(value) if is_buffer_type(value.type) else () for value in computation.op.operands
    ]
    if domain is None:
        return Space((), tuple(tuple(map(Along, shape)) for shape in shapes))
    axes = [
        [index_of(each, extent, domain) for each, extent in zip(m.results, shape, strict=True)]
        for m, shape in zip(domain.maps, shapes, strict=True)
    ]
    written = {next(iter(each.steps)) for each in axes[-1] if each.steps and len(each.steps) == 1}
    cut = set(written)
    if computation.accumulates:
        cut |= domain.sums
    followed = [[along(each, domain, cut) for each in indices] for indices in axes]
    for indices, found in zip(axes, followed, strict=True):
        for index, axis in zip(indices, found, strict=True):
            cut -= {dim for dim in index.dims if name_of(dim) != axis.loop}
    dims = sorted(range(len(domain.extents)), key=lambda dim: (dim in domain.sums, dim))
    loops = [Loop(name_of(dim), domain.extents[dim], fixed=dim not in cut) for dim in dims]
    fixed = {loop.name for loop in loops if loop.fixed}
    return Space(
        tuple(loops),
        tuple(
            tuple(Along(a.extent) if a.loop in fixed and a.windows else a for a in found)
            for found in followed
        ),
    )


def name_of(dim: int) -> str:
    """The name of the loop over a dimension, as in affine maps."""
    return f"d{dim}"


def index_of(expression: AffineExpr, extent: int, domain: Domain) -> Index:
    """An index as a sum of multiples of dimensions."""
    used, zero = frozenset(expression.used_dims()), [0] * len(domain.extents)
    if not is_linear(expression):
        return Index(extent, used)
    shift = expression.eval(zero, [])
    steps: dict[int, int] = {}
    for dim in sorted(used):
        unit = [int(dim == other) for other in range(len(zero))]
        steps[dim] = expression.eval(unit, []) - shift
    return Index(extent, used, {dim: step for dim, step in steps.items() if step}, shift)


def is_linear(expression: AffineExpr) -> bool:
    """Whether an expression has sums and multiples only: no division, no remainder, no symbol."""
    kinds = {kind.name for each in expression.dfs() if (kind := getattr(each, "kind", None))}
    return kinds <= {"Add", "Mul"} and expression.is_pure_affine()


def along(index: Index, domain: Domain, cut: set[int]) -> Along:
    """How an axis follows the loops over the dimensions in `cut`."""
    steps = index.steps
    if not steps or index.shift or min(steps.values()) < 1 or len(steps) > 2:
        return Along(index.extent)
    slid = [dim for dim in steps if dim not in domain.sums]
    if steps == {next(iter(steps)): 1}:
        (dim,) = steps
        whole = index.extent == domain.extents[dim]
        return Along(index.extent, name_of(dim)) if whole and dim in cut else Along(index.extent)
    if len(slid) != 1 or slid[0] not in cut:
        return Along(index.extent)
    (taps,) = [dim for dim in steps if dim not in slid] or [None]
    kernel, dilation = (1, 1) if taps is None else (domain.extents[taps], steps[taps])
    axis = Axis(index.extent, kernel, steps[slid[0]], dilation=dilation)
    if axis.outputs != domain.extents[slid[0]] or not can_cut((axis,)):
        return Along(index.extent)
    return Along(index.extent, name_of(slid[0]), (axis,))


def tiles_of(space: Space) -> Iterator[Cut]:
    """Tiles to choose from: some even sizes along each loop, in each order of up to three loops."""
    free = [loop for loop in space.loops if not loop.fixed and loop.extent > 1]
    sizes = [list(even_sizes(loop.extent)) for loop in free]
    while prod(map(len, sizes)) > CUTS:
        longest = max(sizes, key=len)
        if len(longest) <= FEWEST:
            break
        longest[:] = [*longest[:-1:2], longest[-1]]
    for each in product(*sizes):
        tile = space.whole | dict(zip((loop.name for loop in free), each, strict=True))
        cut = Cut.of(space, tile)
        orders = permutations(cut.order) if len(cut.order) <= PERMUTED else [cut.order]
        yield from (Cut.of(space, tile, order) for order in orders)
