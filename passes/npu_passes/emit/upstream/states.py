"""What is kept from one run to the next lies in the arena only: it is no argument.

    func.func @f(%h: memref<4xf32, #npu.sram> {npu.state = "n", sram.input, sram.output, ...}) ...
becomes
    func.func @f(%arena: memref<40xi8, #npu.sram>) ...
    func.func @f_reset(%arena: memref<40xi8, #npu.sram>) ...     // stores the zero of each state

As in the C, a caller calls the second function before the first run, and where a sequence begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import ZERO_POINT
from npu_dialect.npu.maps import storage_elements
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.support.refuse import refuse


@dataclass(frozen=True)
class State:
    """A state: its type, its byte offset in the arena, and the number that stands for zero."""

    type: MemRefType[Attribute]
    offset: int
    zero: int

    @staticmethod
    def of(argument: BlockArgument, offset: int) -> State:
        """The state that an argument is."""
        zero = ZERO_POINT.of(argument_attributes(argument)) or 0
        return State(memref_type(argument), offset, zero)


def drop_argument(function: FuncOp, argument: BlockArgument) -> None:
    """Remove an argument that nothing uses any more."""
    index, kind = argument.index, function.function_type
    inputs = [type_ for at, type_ in enumerate(kind.inputs.data) if at != index]
    function.function_type = FunctionType.from_lists(inputs, kind.outputs.data)
    if function.arg_attrs is not None:
        kept = [each for at, each in enumerate(function.arg_attrs.data) if at != index]
        function.arg_attrs = ArrayAttr(kept)
    argument.block.erase_arg(argument)


def add_reset(
    module: ModuleOp, function: FuncOp, arena: Attribute, states: Sequence[State]
) -> None:
    """Add the function that sets the states of a function to zero.

    `arena` is the type of the arena. Raises: Refusal if there is a function of its name.
    """
    name = f"{function.sym_name.data}_reset"
    if any(isinstance(op, FuncOp) and op.sym_name.data == name for op in module.ops):
        refuse(function, f"@{name} is the name of the function that sets states to zero")
    block = Block(arg_types=[arena])
    block.args[0].name_hint = "arena"
    end = ReturnOp()
    block.add_op(end)
    b = LoopBuilder(end)
    for state in states:
        fill(b, block.args[0], state)
    reset = FuncOp(name, ([arena], []), Region(block))
    module.body.block.insert_op_after(reset, function)


def fill(b: LoopBuilder, arena: SSAValue, state: State) -> None:
    """Build the loop that stores the zero of a state in all its elements."""
    type_, count = state.type, storage_elements(state.type) or 0
    flat = MemRefType(type_.element_type, [count], memory_space=type_.memory_space)
    view = b.insert(memref.ViewOp(arena, b.value(state.offset), [], flat)).result
    zero = b.number(state.zero, type_.element_type)

    def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
        b.store(zero, view, [index])
        return ()

    b.loop(0, count, body)
