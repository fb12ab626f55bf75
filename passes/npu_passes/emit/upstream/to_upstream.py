"""`npu-to-upstream`: say everything in dialects of upstream MLIR (on loops).

    func.func @f(%x: memref<64xi8, #npu.sram> {sram.input, sram.offset = 0 : i64})
        attributes {sram.arena = 96 : i64} {
      %y = sram.alloc at 64 : memref<32xi8, #npu.sram>
      %w = dsp.load_word %x[%i] : memref<64xi8, #npu.sram> -> i32
becomes
    func.func @f(%x: memref<64xi8>, %arena: memref<96xi8>) {
      %x_map = memref.view %arena[%c0][] : memref<96xi8> to memref<64xi8>
      scf.if %elsewhere { memref.copy %x, %x_map }        // %x is not that memory
      %y = memref.view %arena[%c64][] : memref<96xi8> to memref<32xi8>
      %0 = memref.load %x_map[%i] : memref<64xi8>         // and three more, put together

The decision: what stands for each of our words. This is the last pass before LLVM's `mlir-opt`, or
another back end: nothing of ours is left, and views have the types that upstream infers. The files
beside this one have the parts: `arena.py` buffers, `copies.py` copies, `transfers.py` transfers,
`types.py` memory spaces, `views.py` views, `words.py` arithmetic on words. What upstream cannot say
is rejected by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import InsertPoint

from npu_dialect import dma
from npu_dialect.walking import walk, walk_kind
from npu_passes.emit.upstream.arena import place_buffers
from npu_passes.emit.upstream.check import check
from npu_passes.emit.upstream.copies import Order, expand_copy, order_of
from npu_passes.emit.upstream.quirks import hide_declarations
from npu_passes.emit.upstream.transfers import Calls, MemrefTransfers, erase
from npu_passes.emit.upstream.types import Types
from npu_passes.emit.upstream.views import Views
from npu_passes.emit.upstream.words import BUILD, WordBuilder
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.refuse import Refusal, RefusingPass, refuse

SAME_SPACE = (
    "memref.dma_start moves between two memory spaces; expected sram-space and dram-space to differ"
)


@dataclass(frozen=True)
class ToUpstreamPass(RefusingPass):
    """Say everything in dialects of upstream MLIR; see the module."""

    name = "npu-to-upstream"

    sram_space: int = 0
    """The memory space of on-chip memory; 0 is the default space, which types do not print."""
    dram_space: int = 0
    """The memory space of off-chip memory."""
    flash_space: int = 0
    """The memory space of learned parameters in flash."""
    transfers: Literal["calls", "memref"] = "calls"
    """Whether transfers become calls of declared functions, or `memref.dma_start`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        types = Types.of(self.sram_space, self.dram_space, self.flash_space)
        self.check_options()
        check(op)
        for start in walk_kind(op, memref.DmaStartOp):
            ends = (memref_type(start.src), memref_type(start.dest))
            if len({types.converted(each.memory_space) for each in ends}) == 1:
                refuse(start, SAME_SPACE)
        functions = {
            each.sym_name.data: each
            for each in op.ops
            if isinstance(each, FuncOp) and not each.is_declaration
        }
        builders = {name: builder_of(each) for name, each in functions.items()}
        orders = {each: order_of(each) for each in walk_kind(op, memref.CopyOp)}
        self.replace_transfers(op, builders)
        hide_declarations(op)
        place_buffers(op, builders)
        types.convert_all(op)
        declared = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        for name, function in functions.items():
            drop_casts(function)
            Views(builders[name], declared).type_all(function)
            replace_words(builders[name], function)
            expand_copies(builders[name], function, orders)

    def check_options(self) -> None:
        """Check the numbers of the memory spaces.

        Raises: Refusal for negative ones, and if `memref.dma_start` would stay in one space.
        """
        numbers = (self.sram_space, self.dram_space, self.flash_space)
        if min(numbers) < 0:
            raise Refusal(f"expected memory spaces of at least 0, got {min(numbers)}")
        if self.transfers == "memref" and self.sram_space == self.dram_space:
            raise Refusal(SAME_SPACE)

    def replace_transfers(self, module: ModuleOp, builders: Mapping[str, LoopBuilder]) -> None:
        """Replace all transfers of a module."""
        made = Calls(module) if self.transfers == "calls" else MemrefTransfers()
        for b in builders.values():
            function = b.block.parent_op()
            assert function is not None
            for op in list(walk_kind(function, *dma.DMA.operations)):
                b.builder.insertion_point = InsertPoint.before(op)
                match op:
                    case dma.StartOp():
                        made.start(b, op)
                    case dma.WaitOp():
                        made.wait(b, op)
                    case _:
                        erase(op)
        made.declare()


def builder_of(function: FuncOp) -> WordBuilder:
    """A builder with its constants at the start of a function."""
    first = function.body.blocks[0].first_op
    assert first is not None
    return WordBuilder(first)


def drop_casts(function: FuncOp) -> None:
    """Remove casts between types that have become the same."""
    for op in list(walk_kind(function, UnrealizedConversionCastOp)):
        if [value.type for value in op.inputs] == [value.type for value in op.outputs]:
            for value, same in zip(op.outputs, op.inputs, strict=True):
                value.replace_all_uses_with(same)
            erase(op)


def replace_words(b: WordBuilder, function: FuncOp) -> None:
    """Replace the ops of the dsp dialect in a function."""
    for op in list(walk(function)):
        if (build := BUILD.get(type(op))) is None:
            continue
        b.builder.insertion_point = InsertPoint.before(op)
        made = build(b, op)
        values = made if isinstance(made, tuple) else () if made is None else (made,)
        for result, value in zip(op.results, values, strict=True):
            value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        erase(op)


def expand_copies(b: LoopBuilder, function: FuncOp, orders: Mapping[memref.CopyOp, Order]) -> None:
    """Replace the copies of a function that upstream would make calls of, or do wrong.

    `orders` has those of the copies that were there before; ports are copied in any order.
    """
    for op in list(walk_kind(function, memref.CopyOp)):
        b.builder.insertion_point = InsertPoint.before(op)
        if expand_copy(b, op, orders.get(op, Order.ANY)):
            erase(op)
