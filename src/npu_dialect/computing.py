"""What passes ask of an op that computes one map from others, whatever its dialect.

    npu.conv2d ins(%x, %w : ...) outs(%y : ...)                  // a layer of ours
    linalg.matmul ins(%a, %b : ...) outs(%c : ...)               // upstream's
    toy.scale %x into %y : ...                                   // with the trait `Computes`

`computation_of` describes each of them in the same terms. Passes that move maps, cut loops or plan
memory need nothing else of an op. Another dialect takes part with a trait:

    class ScaleComputes(Computes):
        @classmethod
        def computation(cls, op: Operation) -> Computation:
            return Computation(op, domain=Domain.elementwise(shape, len(op.operands)))

    class ScaleOp(IRDLOperation):
        traits = traits_def(ScaleComputes())

All operands but the last one are read, and the last one is the buffer that is written. An op on
tensors has a result in its place; if it is in destination style too, as those of `linalg` are, its
last operand is the tensor from which the result starts.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.traits import OpTrait

if TYPE_CHECKING:
    from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation


@dataclass(frozen=True)
class Index:
    """The index of one axis of `extent` elements: `steps` times the dimensions, plus `shift`.

    `dims`: the dimensions in it. `steps` is None if it is no sum of multiples.
    """

    extent: int
    dims: frozenset[int]
    steps: dict[int, int] | None = None
    shift: int = 0


@dataclass(frozen=True)
class Domain:
    """The points at which an op computes, and the element of each operand that it uses there.

    `extents`: the points along each dimension. `sums`: the dimensions over which it adds up (or
    takes a maximum, ...); the others number the elements of the destination. `maps`: for each
    operand, indices from a point.
    """

    extents: tuple[int, ...]
    sums: frozenset[int]
    maps: tuple[AffineMap, ...]

    def index(self, operand: int, axis: int, extent: int) -> Index:
        """The index along one axis, of `extent` elements, of an operand."""
        expression = self.maps[operand].results[axis]
        used, zero = frozenset(expression.used_dims()), [0] * len(self.extents)
        if not is_linear(expression):
            return Index(extent, used)
        shift = expression.eval(zero, [])
        steps: dict[int, int] = {}
        for dim in sorted(used):
            unit = [int(dim == other) for other in range(len(zero))]
            steps[dim] = expression.eval(unit, []) - shift
        return Index(extent, used, {dim: step for dim, step in steps.items() if step}, shift)

    @staticmethod
    def elementwise(shape: Sequence[int], operands: int) -> Domain:
        """The domain of an op whose operands, all of one shape, are used element by element."""
        maps = (AffineMap.identity(len(shape)),) * operands
        return Domain(tuple(shape), frozenset(), maps)


@dataclass(frozen=True)
class Computation:
    """How an op computes one map from others.

    `parameters`: positions of the operands that are learned. `accumulates`: whether it adds to what
    the destination holds. `domain`: None if only the op itself knows which elements it uses; then
    passes do not cut it. `starts`: whether an op on tensors has the tensor as last operand from
    which its result starts.
    """

    op: Operation
    parameters: frozenset[int] = frozenset()
    accumulates: bool = False
    domain: Domain | None = None
    starts: bool = False

    @property
    def destination(self) -> SSAValue | None:
        """The buffer that the op writes; None on tensors."""
        return None if self.op.results else self.op.operands[-1]

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """The operands but the destination; on tensors, all operands."""
        return tuple(self.op.operands[: None if self.op.results else -1])

    @property
    def parameter_inputs(self) -> tuple[SSAValue, ...]:
        """The operands that are learned."""
        return tuple(self.op.operands[index] for index in sorted(self.parameters))

    @property
    def start(self) -> SSAValue | None:
        """On tensors, the one from which the result starts; None if its elements do not matter."""
        last = self.op.operands[-1] if self.starts and self.accumulates else None
        empty = last is not None and isinstance(last.owner, Operation) and is_empty(last.owner)
        return None if empty else last

    @property
    def reads(self) -> tuple[SSAValue, ...]:
        """On tensors, the operands of which elements are read; `start` is the last one."""
        inputs = self.op.operands[:-1] if self.starts else self.op.operands
        return (*inputs, *(each for each in (self.start,) if each is not None))

    def in_place_reads(self) -> tuple[int, ...]:
        """Positions in `reads` of the tensors that the result may overwrite.

        That is the one from which it starts, or those that are used element by element.
        """
        if self.start is not None:
            return (len(self.reads) - 1,)
        domain = self.domain
        if domain is None or domain.sums:
            return ()
        return tuple(i for i in range(len(self.reads)) if domain.maps[i] == domain.maps[-1])

    def on(self, operands: Sequence[SSAValue]) -> Operation:
        """A copy of the op in destination style on other operands, the destination last."""
        return type(self.op).create(
            operands=operands,
            properties=dict(self.op.properties),
            attributes=dict(self.op.attributes),
            regions=[region.clone() for region in self.op.regions],
        )


class Computes(OpTrait, abc.ABC):
    """The trait of ops that compute one map from others."""

    @classmethod
    @abc.abstractmethod
    def computation(cls, op: Operation) -> Computation | None:
        """How an op with this trait computes; None if this op does so in another way."""


def is_linear(expression: AffineExpr) -> bool:
    """Whether an expression has sums and multiples only: no division, no remainder, no symbol."""
    linear = (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul)
    parts = list(expression.dfs())
    kinds = [each.kind for each in parts if isinstance(each, AffineBinaryOpExpr)]
    symbols = any(isinstance(each, AffineSymExpr) for each in parts)
    return not symbols and all(kind in linear for kind in kinds) and expression.is_pure_affine()


def is_empty(op: Operation) -> bool:
    """Whether an op makes a tensor without elements of its own, for a result to start from."""
    return op.name == "tensor.empty"


def computation_of(op: Operation) -> Computation | None:
    """How an op computes one map from others; None if nobody says so."""
    if op.name.startswith("linalg."):
        return structured(op)
    for trait in op.get_traits_of_type(Computes):
        return trait.computation(op)
    return None


def structured(op: Operation) -> Computation | None:
    """How an op of `linalg` computes; None unless it has one output, a memref or a tensor.

    `linalg.index` in its body counts from the start of the map, so such an op has no domain.
    """
    from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation

    if op.name in ALONG:
        return along_dimensions(op)
    if not isinstance(op, LinalgStructuredOperation) or len(op.outputs) != 1:
        return None
    last = op.body.block.args[-1]
    accumulates = last.first_use is not None
    return Computation(op, accumulates=accumulates, domain=domain_of(op), starts=bool(op.results))


ALONG = ("linalg.reduce", "linalg.broadcast")
"""Ops of `linalg` that list dimensions in place of indexing maps."""


def along_dimensions(op: Operation) -> Computation | None:
    """How a sum over some dimensions computes, or a map that is repeated along new ones."""
    listed = op.properties.get("dimensions")
    shapes = [each.type.get_shape() for each in op.operands if isinstance(each.type, ShapedType)]
    if not isinstance(listed, DenseArrayBase) or len(shapes) != 2:
        return None
    sums = op.name == ALONG[0]
    shape, dims = shapes[0 if sums else 1], frozenset(map(int, listed.get_values()))
    rest = [AffineExpr.dimension(dim) for dim in range(len(shape)) if dim not in dims]
    maps = (AffineMap.identity(len(shape)), AffineMap(len(shape), 0, tuple(rest)))
    domain = Domain(shape, dims if sums else frozenset(), maps if sums else maps[::-1])
    static = all(extent >= 0 for extent in shape)
    return Computation(
        op, accumulates=sums, domain=domain if static else None, starts=bool(op.results)
    )


def domain_of(op: LinalgStructuredOperation) -> Domain | None:
    """The domain of an op of `linalg`; None if it is not static or not known."""
    from xdsl.dialects.linalg.attrs import IteratorType

    types: list[Attribute] = [value.type for value in op.operands]
    shaped = [type_ for type_ in types if isinstance(type_, ShapedType)]
    if any(extent < 0 for type_ in shaped for extent in type_.get_shape()):
        return None
    if any(inner.name == "linalg.index" for inner in op.body.walk()):
        return None
    try:
        extents = op.get_static_loop_ranges()
    except NotImplementedError:  # no operand says how far a dimension goes
        return None
    kinds = [kind.data for kind in op.get_iterator_types()]
    sums = frozenset(place for place, kind in enumerate(kinds) if kind != IteratorType.PARALLEL)
    return Domain(extents, sums, tuple(each.data for each in op.get_indexing_maps()))


def is_computed_on_buffers(op: Operation) -> bool:
    """Whether an op computes a map in a buffer: a layer in destination style, of any dialect."""
    found = computation_of(op)
    out = None if found is None else found.destination
    return out is not None and isinstance(out.type, MemRefType)


def accumulates(op: Operation) -> bool:
    """Whether an op adds to what its destination holds, so that it reads it, too."""
    found = computation_of(op)
    return found is not None and found.accumulates


def parameters_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands of an op that are learned."""
    found = computation_of(op)
    return () if found is None else found.parameter_inputs
