"""The layers of a function on tensors as the graph for `npu_plans/modules/graph.py`.

    %1 = npu.conv2d %x, %w ...                 1: Node(inputs=(0,))
    %2 = npu.relu %1                           2: Node(inputs=(1,), weight=0)
    %3 = npu.concat %1, %2 axis 1              3: Node(inputs=(1, 2), merge=True)

One decision is made here: how many layers an op counts as when a branch is compared with
`max-depth`. Element-wise layers of one map and reshapes count 0, so that fusing an activation into
the layer before it does not change which modules there are. An existing module counts as its
longest branch and its merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.module_attributes import IN_PART
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AddOp, ConcatOp, ReshapeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.structure import BranchedModuleOp, is_constant
from npu_plans.modules.graph import Node


@dataclass(frozen=True)
class Network:
    """The nodes of a block, each with its value and its op.

    The op is None for a value that neither a layer nor a module computes.
    """

    nodes: tuple[Node, ...]
    values: tuple[SSAValue, ...]
    ops: tuple[Operation | None, ...]

    @staticmethod
    def of(block: Block) -> Network:
        """Read a block; tensors that no layer or module computes are values from outside."""
        numbers: dict[SSAValue, int] = {}
        nodes: list[Node] = []
        ops: list[Operation | None] = []

        def add(value: SSAValue, op: Operation | None, inputs: Sequence[SSAValue] = ()) -> None:
            known = tuple(numbers[value] for value in inputs if value in numbers)
            numbers[value] = len(nodes)
            nodes.append(node_of(value, op, known))
            ops.append(op)

        for argument in block.args:
            if isinstance(argument.type, TensorType):
                add(argument, None)
        for op in block.ops:
            if (maps := maps_of(op)) is not None:
                add(op.results[0], op, maps)
            else:
                for result in op.results:
                    if isinstance(result.type, TensorType) and not is_constant(result):
                        add(result, None)
        return Network(tuple(nodes), tuple(numbers), tuple(ops))

    def layer_name(self, number: int) -> str | None:
        """The name of a node in the model; None if it is no layer or has no name."""
        op = self.ops[number]
        return LAYER.get(op) if op is not None else None

    def name(self, number: int) -> str:
        """The name of a node in a remark."""
        hint = self.values[number].name_hint
        return self.layer_name(number) or (f"%{hint}" if hint else "a value")


def maps_of(op: Operation) -> tuple[SSAValue, ...] | None:
    """The feature maps that a layer on tensors or a module reads; None for any other op."""
    if isinstance(op, BranchedModuleOp):
        return (op.input,)
    if isinstance(op, LayerOp) and op.destination is None:
        return tuple(value for value in op.maps if not is_constant(value))
    return None


def node_of(value: SSAValue, op: Operation | None, inputs: tuple[int, ...]) -> Node:
    """The node of a value that a layer, a module or something else (None) computes."""
    return Node(
        inputs=inputs,
        weight=0 if op is None else weight_of(op),
        merge=op is not None and merge_of(op) is not None,
        joins=isinstance(op, ConcatOp),
        escapes=any(not is_read_as_map(value, use.operation) for use in value.uses),
    )


def merge_of(op: Operation) -> str | None:
    """How an op merges maps: "concat" or "add"; None if a module cannot end with it."""
    maps = maps_of(op) or ()
    if len(maps) < 2 or len(maps) < len(op.operands):
        return None
    if isinstance(op, ConcatOp):
        return "concat"
    if isinstance(op, AddOp) and shape_of(op.lhs) == shape_of(op.rhs):
        return "add"
    return None


def weight_of(op: Operation) -> int:
    """How many layers an op counts as."""
    if isinstance(op, BranchedModuleOp):
        merge = 0 if IN_PART.is_on(op) else 1  # the concatenation that reads it counts itself
        return merge + max(sum(map(weight_of, branch.body.block.ops)) for branch in op.branches)
    if isinstance(op, LayerOp):
        in_place = op.ELEMENTWISE and len(maps_of(op) or ()) < 2
        return 0 if in_place or isinstance(op, ReshapeOp) else 1
    return 0


def is_read_as_map(value: SSAValue, user: Operation) -> bool:
    """Whether an op reads a value as a feature map, in a layer or module of the value's block.

    A layer that reads it as a parameter does not.
    """
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
    reader = block.find_ancestor_op_in_block(user) if block is not None else None
    return reader is not None and value in (maps_of(reader) or ())
