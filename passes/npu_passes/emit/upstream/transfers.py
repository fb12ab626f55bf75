"""Transfers as calls of declared functions, or as the transfers of upstream's memref dialect.

    %t = dma.start %rows to %tile channel 1
        : memref<1x4x2x8xf32, strided<[256, 64, 8, 1]>, #npu.dram> to memref<1x4x2x8xf32, #npu.sram>
    dma.wait %t
becomes, as calls,
    %from = memref.cast %rows : ... to memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, ...>
    %to = memref.cast %tile : ... to memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, ...>
    %t = func.call @npu_transfer_read_4d_f32(%channel, %from, %to) : (i32, ...) -> i32
    func.call @npu_transfer_wait(%t) : (i32) -> ()
or, with `transfers=memref`, for each run of bytes
    memref.dma_start %rows[%i, %j, %k, %l], %tile[...], %count, %tag[%n] : ...
    memref.dma_wait %tag[%n], %count : ...

The functions are `read` onto the chip, `write` off it, and `weights` for learned parameters. Each
is declared for a rank and an element type; the buffers say the rest. A transfer in blocks calls
`npu_transfer_read_blocks_4d_f32` or `write`, which also gets the map, its index, the size of a
block and the integer that stands for zero; one of bit planes calls `npu_transfer_read_planes_4d_i8`
or `write` with the same. A token that a loop carries is the number that the function returns.
`memref.dma_start` moves one run, so a transfer of several has a tag for each, and is started and
awaited in loops; no loop can carry a tag. `dma.reads` and `dma.writes` only count, and are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect import dma
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.walking import walk_kind
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.support.refuse import refuse

Buffer = MemRefType[Attribute]


def erase(op: Operation) -> None:
    """Remove an op whose results nobody uses."""
    op.detach()
    op.erase()


@dataclass
class Calls:
    """Replaces transfers by calls, and declares the functions in the module."""

    module: ModuleOp
    declared: dict[str, FunctionType] = field(default_factory=dict[str, FunctionType])

    def __post_init__(self) -> None:
        """Make numbers of the tokens that loops carry."""
        for op in walk_kind(self.module, scf.ForOp):
            for value in (*op.body.block.args, *op.results):
                if isinstance(value.type, dma.TokenType):
                    Rewriter.replace_value_with_new_type(value, i32)

    def start(self, b: LoopBuilder, op: dma.StartOp) -> None:
        """Call the function that starts a transfer; its token is the function's result."""
        what = "read"
        if memref_type(op.target).memory_space == DramSpace():
            what = "write"
        elif op.weights is not None:
            what = "weights"
        operands = [b.integer(op.channel.value.data), *(loose(b, v) for v in buffers_of(op))]
        if op.block is not None and op.zero is not None:
            what += "_blocks" if op.planes is None else "_planes"
            operands += [b.integer(op.block.value.data), b.integer(op.zero.value.data)]
        type_ = memref_type(op.source)
        name = f"npu_transfer_{what}_{type_.get_num_dims()}d_{type_.element_type}"
        token = self.call(b, op, name, operands, [i32])
        op.token.replace_all_uses_with(token[0])
        erase(op)

    def wait(self, b: LoopBuilder, op: dma.WaitOp) -> None:
        """Call the function that waits for a transfer."""
        self.call(b, op, "npu_transfer_wait", [op.token], [])
        erase(op)

    def call(
        self,
        b: LoopBuilder,
        op: Operation,
        name: str,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
    ) -> Sequence[SSAValue]:
        """Call a function, and note that it has to be declared.

        Raises: Refusal, attached to `op`, if the module has another function of the name.
        """
        types = [i32 if isinstance(v.type, dma.TokenType) else v.type for v in operands]
        type_ = FunctionType.from_lists(types, list(results))
        if self.declared.setdefault(name, type_) != type_:
            refuse(op, f"two transfers need two functions @{name}; expected maps of one space")
        return b.insert(CallOp(name, operands, results)).results

    def declare(self) -> None:
        """Declare the functions that were called."""
        there = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        for name, type_ in sorted(self.declared.items()):
            found = there.get(name)
            if found is None:
                self.module.body.block.add_op(FuncOp.external(name, *lists_of(type_)))
            elif not found.is_declaration or found.function_type != type_:
                refuse(found, f"@{name} is the name of a function for transfers: expected {type_}")


def lists_of(type_: FunctionType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of arguments and of results."""
    return type_.inputs.data, type_.outputs.data


def buffers_of(op: dma.StartOp) -> Sequence[SSAValue]:
    """Source, target and, for a transfer in blocks, the map and its index."""
    return (op.source, op.target, *op.blocked)


def loose(b: LoopBuilder, buffer: SSAValue) -> SSAValue:
    """A buffer as one of its rank of any shape and layout."""
    type_ = memref_type(buffer)
    rank = type_.get_num_dims()
    layout = StridedLayoutAttr([None] * rank, None)
    shape = [DYNAMIC_INDEX] * rank
    wanted = MemRefType(type_.element_type, shape, layout, type_.memory_space)
    return b.insert(memref.CastOp.get(buffer, wanted)).dest


@dataclass
class MemrefTransfers:
    """Replaces transfers by `memref.dma_start` and `memref.dma_wait`."""

    tags: dict[dma.StartOp, tuple[SSAValue, Sequence[int], int]] = field(
        default_factory=dict[dma.StartOp, tuple[SSAValue, Sequence[int], int]]
    )
    """For each transfer its tags, the extents along which it has runs, and a run's elements."""
    finished: list[dma.StartOp] = field(default_factory=list[dma.StartOp])

    def start(self, b: LoopBuilder, op: dma.StartOp) -> None:
        """Start the runs of a transfer.

        Raises: Refusal for a transfer in blocks, and for one whose token a loop carries: upstream
            has none.
        """
        if any(not isinstance(use.operation, dma.WaitOp) for use in op.token.uses):
            refuse(
                op,
                "memref.dma_start has no token that a loop can carry; expected transfers=calls, or "
                "npu-double-buffer{ahead=1} before",
            )
        if op.blocked:
            refuse(op, "memref.dma_start cannot skip blocks; expected transfers=calls")
        shape, axes = memref_type(op.source).get_shape(), outer_axes(op)
        outer, count = shape[:axes], prod(shape[axes:])
        tag = b.hoist(memref.AllocaOp.get(i32, shape=[prod(outer)]), "tag")

        def one(at: Sequence[Index], number: Index) -> None:
            indices = [b.value(each) for each in (*at, *([0] * (len(shape) - axes)))]
            b.insert(
                memref.DmaStartOp.get(
                    op.source, indices, op.target, indices, b.value(count), tag, [b.value(number)]
                )
            )

        over_runs(b, outer, one)
        self.tags[op] = (tag, outer, count)

    def wait(self, b: LoopBuilder, op: dma.WaitOp) -> None:
        """Wait for all runs of a transfer."""
        start = op.token.owner
        assert isinstance(start, dma.StartOp)
        tag, outer, count = self.tags[start]

        def one(at: Sequence[Index], number: Index) -> None:
            b.insert(memref.DmaWaitOp.get(tag, [b.value(number)], b.value(count)))

        over_runs(b, outer, one)
        erase(op)

    def declare(self) -> None:
        """Remove the transfers, which have no waits any more; nothing has to be declared."""
        for op in self.tags:
            erase(op)


def outer_axes(op: dma.StartOp) -> int:
    """How many axes of a transfer lie outside of its runs, which have no gaps at both ends."""
    shape = memref_type(op.source).get_shape()
    axis, run = len(shape), 1
    while axis > 0 and all(
        shape[axis - 1] == 1 or (memref_type(end).get_strides() or ())[axis - 1] == run
        for end in (op.source, op.target)
    ):
        axis -= 1
        run *= shape[axis]
    return axis


def over_runs(
    b: LoopBuilder, extents: Sequence[int], one: Callable[[Sequence[Index], Index], None]
) -> None:
    """Build a loop for each extent, and in them what `one` builds for the indices.

    `one` also gets the number of the run.
    """

    def inside(at: Sequence[Index], number: Index) -> None:
        if len(at) == len(extents):
            one(at, number)
            return
        extent = extents[len(at)]

        def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            inside([*at, index], b.add(b.mul(number, extent), index))
            return ()

        b.loop(0, extent, body)

    inside([], 0)
