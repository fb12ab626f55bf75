"""Which buffer each tensor of a function will live in: the analysis behind `npu-bufferize`.

Level of IR: layers on tensors, one block per function. It decides which layers run in place and
which ones write straight into an output of the function; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, Use
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ReshapeOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.rows import RowsOp

PASS = "npu-bufferize"


@dataclass(frozen=True)
class BufferPlan:
    """Where the tensors of one function live.

    A value's *root* is the value whose buffer it shares: itself, or for views and layers in place
    the value that they look at or overwrite. `in_place` holds for each layer in place the input
    that it overwrites; `direct` each root whose buffer is an output of the function, with the
    position of that output among the returned values; `returned` all returned tensors with theirs.
    """

    root: Mapping[SSAValue, SSAValue]
    in_place: Mapping[Operation, SSAValue]
    direct: Mapping[SSAValue, int]
    returned: tuple[tuple[int, SSAValue], ...]

    @property
    def copied(self) -> tuple[tuple[int, SSAValue], ...]:
        """The returned tensors that no layer writes straight into the output."""
        return tuple(
            (place, value)
            for place, value in self.returned
            if self.direct.get(self.root[value]) != place
        )


def is_tensor(kind: Attribute) -> bool:
    """Whether a type is a tensor of any kind."""
    return isinstance(kind, TensorType | UnrankedTensorType)


def touches_tensors(op: Operation) -> bool:
    """Whether an op, or an op inside it, takes or gives a tensor."""
    return any(
        is_tensor(kind)
        for inner in op.walk()
        for kind in (
            *inner.operand_types,
            *inner.result_types,
            *(
                arg.type
                for region in inner.regions
                for block in region.blocks
                for arg in block.args
            ),
        )
    )


def constant_value(op: Operation) -> DenseIntOrFPElementsAttr[AnyDenseElement] | None:
    """The elements of a dense tensor constant, of any dialect; None for other ops."""
    if len(op.results) != 1 or not op.has_trait(ConstantLike, value_if_unregistered=False):
        return None
    value = ConstantLike.get_constant_value(op.results[0])
    return value if isa(value, DenseIntOrFPElementsAttr) else None


def body_of(function: func.FuncOp) -> tuple[Block, func.ReturnOp]:
    """The block and the return of a function that can be bufferized.

    Raises: PassFailedException, attached to the op that stands in the way.
    """
    if function.is_declaration:
        fail(function, "expected a function with a body: the layout of an external one is unknown")
    if len(function.body.blocks) != 1:
        fail(function, f"expected one block, got {len(function.body.blocks)}: control flow is left")
    block = function.body.block
    last = block.last_op
    if not isinstance(last, func.ReturnOp):
        fail(function, "expected func.return at the end")
    for arg in block.args:
        check_static(function, arg.type)
    for op in block.ops:
        if op is last or isinstance(op, LayerOp | RowsOp) or not touches_tensors(op):
            continue
        if constant_value(op) is None:
            fail(op, f"expected layers only, got {op.name}")
    for op in block.ops:
        for kind in op.result_types:
            check_static(op, kind)
    return block, last


def check_static(op: Operation, kind: Attribute) -> None:
    """Raise if a type is a tensor whose size is not known."""
    if isinstance(kind, UnrankedTensorType) or (
        isinstance(kind, TensorType) and not kind.has_static_shape()
    ):
        fail(op, f"expected static shapes, got {kind}")


def fail(op: Operation, message: str) -> NoReturn:
    """Reject an op."""
    op.emit_error(message, PassFailedException(f"{PASS}: {message}"))


def analyze(function: func.FuncOp) -> BufferPlan:
    """Plan the buffers of a function.

    Raises: PassFailedException if it holds anything but layers, constants and ops without tensors.
    """
    block, last = body_of(function)
    place = {op: index for index, op in enumerate(block.ops)}
    root: dict[SSAValue, SSAValue] = {arg: arg for arg in block.args}
    last_use: dict[SSAValue, int] = {}
    in_place: dict[Operation, SSAValue] = {}

    def share(value: SSAValue, home: SSAValue) -> None:
        root[value] = home
        used = max((place[user(block, use)] for use in value.uses), default=-1)
        last_use[home] = max(last_use.get(home, -1), used)

    for arg in block.args:
        share(arg, arg)
    for op in block.ops:
        if isinstance(op, LayerOp) and op.results:
            target = op.inputs[0] if isinstance(op, ReshapeOp) else None
            if target is None:
                target = overwritten(op, place[op], root, last_use)
                if target is not None:
                    in_place[op] = target
            share(op.results[0], op.results[0] if target is None else root[target])
        else:
            for result in op.results:
                share(result, result)
    returned = tuple((i, value) for i, value in enumerate(last.operands) if is_tensor(value.type))
    return BufferPlan(root, in_place, written_straight(returned, root), returned)


def user(block: Block, use: Use) -> Operation:
    """The op of a block that uses a value, itself or in one of its regions."""
    op = block.find_ancestor_op_in_block(use.operation)
    assert op is not None
    return op


def overwritten(
    op: LayerOp, place: int, root: Mapping[SSAValue, SSAValue], last_use: Mapping[SSAValue, int]
) -> SSAValue | None:
    """The input that an element-wise layer may overwrite: a map like its result that dies here.

    A returned value does not die. A function argument is spared where the result is returned:
    writing straight into the output costs the same memory and saves a copy.
    """
    if not op.ELEMENTWISE:
        return None
    for value in op.maps:
        home = root[value]
        owner = home.owner
        if value.type != op.results[0].type or last_use[home] > place:
            continue
        if isinstance(owner, Operation) and not isinstance(owner, LayerOp | RowsOp):
            continue
        if isinstance(home, BlockArgument) and is_returned(op.results[0]):
            continue
        same = [other for other in op.inputs if root[other] is home]
        if all(shape_of(other) == shape_of(value) for other in same):
            return value
    return None


def is_returned(value: SSAValue) -> bool:
    """Whether a value, or a reshape of it, is returned."""
    return any(
        isinstance(use.operation, func.ReturnOp)
        or (isinstance(use.operation, ReshapeOp) and is_returned(use.operation.results[0]))
        for use in value.uses
    )


def written_straight(
    returned: Sequence[tuple[int, SSAValue]], root: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, int]:
    """Roots whose buffer is an output: made by a layer; for the first output that they reach."""
    direct: dict[SSAValue, int] = {}
    for place, value in returned:
        if isinstance(root[value].owner, LayerOp | RowsOp):
            direct.setdefault(root[value], place)
    return direct
