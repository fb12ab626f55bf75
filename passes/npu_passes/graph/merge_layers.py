"""`npu-merge-layers`: compute once what several layers compute alike (on tensors).

    %a = npu.relu %x {npu.layer = "cell1/old"} : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32>
    %b = npu.relu %x {npu.layer = "cell2/new"} : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32>
    %p = npu.conv2d %a, %v ...
    %q = npu.conv2d %b, %w ...
becomes
    %a = npu.relu %x {npu.layer = "cell1/old"} : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32>
    %p = npu.conv2d %a, %v ...
    %q = npu.conv2d %a, %w ...

The decision: a map that dies at once may be kept instead of what it is computed from. In networks
of cells, two later cells read the map of a cell, and each begins with an activation of its own.
With one activation, the map is no longer needed behind it: the activation runs in place, or becomes
part of the layer in front.

Layers are alike if they are of the same kind and have the same operands and attributes; names do
not count. They are merged in two cases, in which at no time more bytes are alive than before:

- No other layer reads their operands, and the result is no larger than these. Constants do not
  count, as they are there anyway.
- One layer is the only reader of all of them, such as the sum of a map's average pool and itself.

The pass acts on all ops without side effects and regions, also on those of other dialects.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from npu_dialect.attributes import LAYER, VALUE
from npu_dialect.keys import without
from npu_dialect.npu.maps import bytes_of, is_tensor_type
from npu_dialect.walking import walk
from npu_passes.support.refuse import RefusingPass


def read_maps(op: Operation) -> list[SSAValue]:
    """The operands that are computed or given at each run, each once."""
    found = dict.fromkeys(op.operands)
    return [each for each in found if isinstance(each.owner, Block) or each.owner.operands]


def static_bytes(values: Sequence[SSAValue]) -> int | None:
    """The bytes of some tensors; None if one has no size, or is none."""
    total = 0
    for value in values:
        if not is_tensor_type(value.type) or not value.type.has_static_shape():
            return None
        total += bytes_of(value.type)
    return total


def is_mergeable(op: Operation) -> bool:
    """Whether an op can stand for others that compute the same."""
    return not op.regions and bool(op.results) and is_side_effect_free(op) and bool(read_maps(op))


def is_no_larger(op: Operation) -> bool:
    """Whether an op computes maps that are no larger than those that it reads."""
    read, made = static_bytes(read_maps(op)), static_bytes(op.results)
    return read is not None and made is not None and 0 < made <= read


def likeness(op: Operation) -> Hashable:
    """What alike ops have in common: all but their names."""
    attributes = without(op.attributes, LAYER, VALUE)
    return (
        op.name,
        tuple(op.operands),
        tuple(result.type for result in op.results),
        frozenset(op.properties.items()),
        frozenset(attributes.items()),
    )


def alike(op: Operation) -> list[Operation]:
    """The ops behind one whose results need not be computed again."""
    maps = read_maps(op)
    users = users_of(*maps)
    same = [each for each in users if can_be_replaced(each, op)]
    only = len(same) == len(users) - 1 and all(users_of(each) == users for each in maps)
    if only and is_no_larger(op):
        return same
    reader = users_of(*op.results)
    return [each for each in same if len(reader) == 1 and users_of(*each.results) == reader]


def can_be_replaced(op: Operation, first: Operation) -> bool:
    """Whether an op in front computes the same; a function's own results keep their ops."""
    if op.parent is not first.parent or not first.is_before_in_block(op) or op.regions:
        return False
    if any(each.has_trait(IsTerminator) for each in users_of(*op.results)):
        return False
    return likeness(op) == likeness(first)


def users_of(*values: SSAValue) -> AbstractSet[Operation]:
    """The ops that read some values, in a fixed order."""
    return dict.fromkeys(use.operation for value in values for use in value.uses).keys()


class MergeLayersPass(RefusingPass):
    """Compute once what several layers compute alike; see the module."""

    name = "npu-merge-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge from the first layer on, as the readers of merged ones may be alike."""
        for layer in list(walk(op)):
            if layer.parent is None or not is_mergeable(layer):
                continue
            for other in alike(layer):
                for old, new in zip(other.results, layer.results, strict=True):
                    old.replace_all_uses_with(new)
                Rewriter.erase_op(other)
