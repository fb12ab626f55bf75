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
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import OpTrait

if TYPE_CHECKING:
    from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation


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

    @cached_property
    def steps(self) -> int:
        """The points of the domain: the multiply-accumulates of a sum; 0 without a domain."""
        return 0 if self.domain is None else prod(self.domain.extents)

    def on(self, operands: Sequence[SSAValue]) -> Operation:
        """A copy of the op in destination style on other operands, the destination last."""
        new = self.op.clone()
        if new.results:
            new = type(new).create(
                operands=operands,
                properties=new.properties,
                attributes=new.attributes,
                regions=[new.detach_region(region) for region in list(new.regions)],
            )
        new.operands = operands
        return new


class Computes(OpTrait, abc.ABC):
    """The trait of ops that compute one map from others."""

    @classmethod
    @abc.abstractmethod
    def computation(cls, op: Operation) -> Computation | None:
        """How an op with this trait computes; None if this op does so in another way."""


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

    if not isinstance(op, LinalgStructuredOperation) or len(op.outputs) != 1:
        return None
    last = op.body.block.args[-1]
    accumulates = last.first_use is not None
    return Computation(op, accumulates=accumulates, domain=domain_of(op), starts=bool(op.results))


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
    return found is not None and is_buffer(found.destination)


def is_buffer(value: SSAValue | None) -> bool:
    """Whether a value is a memref."""
    return value is not None and isinstance(value.type, MemRefType)
