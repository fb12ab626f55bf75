"""Buffers with offsets become views of one block of bytes that the caller hands over.

    func.func @f(%x: memref<16xf32, #npu.sram> {sram.input, sram.offset = 64 : i64})
        attributes {sram.arena = 128 : i64} {
      %a = sram.alloc at 0 : memref<4x4xf32, strided<[1, 4]>, #npu.sram>
becomes
    func.func @f(%x: memref<16xf32, #npu.sram>, %arena: memref<128xi8, #npu.sram>) {
      %x_map = memref.view %arena[%c64][] : memref<128xi8, ...> to memref<16xf32, ...>
      // if %x is not that memory: copy %x to %x_map
      %0 = memref.view %arena[%c0][] : memref<128xi8, ...> to memref<16xf32, ...>
      %a = memref.reinterpret_cast %0 to ... : ... to memref<4x4xf32, strided<[1, 4]>, ...>

So the function has the contract of the C: a port that lies in the arena is copied, unless the
caller's pointer is its place there; a state is no argument. Functions that allocate, or call one
that does, get the block as their last argument. Buffers off the chip are views of a second block in
the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, MemRefType, ModuleOp, i8
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from npu_dialect import dram, sram
from npu_dialect.arguments import argument_attributes, is_input, is_output, is_state
from npu_dialect.attributes import ARENA, DRAM_BYTES, SRAM_OFFSET
from npu_dialect.keys import Key
from npu_dialect.npu.attributes import DramSpace, SramSpace
from npu_dialect.npu.maps import element_bytes, storage_elements
from npu_dialect.walking import walk_kind
from npu_passes.emit.upstream.states import State, add_reset, drop_argument
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.refuse import refuse

Buffer = MemRefType[Attribute]


@dataclass(frozen=True)
class Pool:
    """A block of bytes in which buffers lie: the arena, or the maps off the chip."""

    name: str
    """The name of the argument."""
    type: Buffer


@dataclass(frozen=True)
class Place:
    """Where a buffer lies: the name of its pool, and its byte offset there."""

    pool: str
    offset: int


ARENA_POOL, DRAM_POOL = "arena", "dram"
SIZES: Mapping[str, Key[int]] = {ARENA_POOL: ARENA, DRAM_POOL: DRAM_BYTES}
"""The attribute of a function that says how many bytes a pool has."""


def place_of(op: Operation) -> Place | None:
    """Where an allocation lies; None for an op that allocates nothing at an offset."""
    match op:
        case sram.AllocOp() if op.place is not None:
            return Place(ARENA_POOL, op.place)
        case dram.AllocOp() if op.place is not None:
            return Place(DRAM_POOL, op.place)
        case memref.AllocOp() if (offset := SRAM_OFFSET.get(op)) is not None:
            return Place(ARENA_POOL, offset)
        case _:
            return None


def place_of_port(argument: BlockArgument) -> Place | None:
    """Where an argument of a function lies; None if it stays in the caller's memory."""
    offset = SRAM_OFFSET.of(argument_attributes(argument))
    return None if offset is None else Place(ARENA_POOL, offset)


def pools_of(module: ModuleOp) -> list[Pool]:
    """The pools of a module, each with its size and its memory space.

    Raises: Refusal if buffers in the arena are in several spaces.
    """
    spaces = {
        memref_type(op.results[0]).memory_space: op
        for op in walk_kind(module, sram.AllocOp, memref.AllocOp)
        if place_of(op) is not None
    }
    if len(spaces) > 1:
        names = ", ".join(str(space) for space in spaces)
        refuse(list(spaces.values())[1], f"expected one memory space in the arena, got {names}")
    space_of: dict[str, Attribute] = {
        ARENA_POOL: next(iter(spaces), SramSpace()),
        DRAM_POOL: DramSpace(),
    }
    found: list[Pool] = []
    for name, key in SIZES.items():
        sizes = [size for op in module.ops if isinstance(op, FuncOp) and (size := key.get(op))]
        if sizes:
            found.append(Pool(name, MemRefType(i8, [max(sizes)], memory_space=space_of[name])))
    return found


def pools_in(functions: Mapping[str, FuncOp]) -> dict[str, set[str]]:
    """For each function the names of the pools that it needs, itself or for what it calls."""
    needed: dict[str, set[str]] = {}
    for name, function in functions.items():
        places = [place_of(op) for op in function.walk()]
        places += [place_of_port(argument) for argument in arguments_of(function)]
        needed[name] = {place.pool for place in places if place is not None}
        needed[name] |= {pool for pool, key in SIZES.items() if key.get(function)}
    changed = True
    while changed:
        before = {name: len(pools) for name, pools in needed.items()}
        for name, function in functions.items():
            for call in walk_kind(function, CallOp):
                needed[name] |= needed.get(call.callee.string_value(), set())
        changed = before != {name: len(pools) for name, pools in needed.items()}
    return needed


def arguments_of(function: FuncOp) -> Sequence[BlockArgument]:
    """The arguments of a function; none of a declaration."""
    return () if function.is_declaration else function.body.blocks[0].args


def place_buffers(module: ModuleOp, builders: Mapping[str, LoopBuilder]) -> None:
    """Make views of all buffers with offsets; see the module's docstring.

    `builders` build at the start of each function, by its name. Raises: Refusal for an offset
    outside of its pool, or without one.
    """
    functions = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, FuncOp) and not op.is_declaration
    }
    pools, needed = pools_of(module), pools_in(functions)
    ports = {name: list(arguments_of(function)) for name, function in functions.items()}
    handed: dict[str, dict[str, SSAValue]] = {}
    for name, function in functions.items():
        wanted = [pool for pool in pools if pool.name in needed[name]]
        handed[name] = {pool.name: append_argument(function, pool) for pool in wanted}
    for name, function in functions.items():
        for call in walk_kind(function, CallOp):
            extra = handed.get(call.callee.string_value(), {})
            call.operands = (*call.operands, *(handed[name][pool] for pool in extra))
        b = builders[name]
        b.builder.insertion_point = behind_constants(b)
        place_ports(b, function, ports[name], handed[name])
        for op in list(function.walk()):
            if (place := place_of(op)) is not None:
                b.builder.insertion_point = InsertPoint.before(op)
                replace_allocation(op, view(b, op, op.results[0], place, handed[name]))


def place_ports(
    b: LoopBuilder,
    function: FuncOp,
    ports: Sequence[BlockArgument],
    pools: Mapping[str, SSAValue],
) -> None:
    """Let a function use the places of its ports and of its states in the arena."""
    states: list[State] = []
    for argument in ports:
        if (place := place_of_port(argument)) is None:
            continue
        made = view(b, function, argument, place, pools)
        made.name_hint = f"{argument.name_hint or f'port{argument.index}'}_map"
        argument.replace_all_uses_with(made)
        if is_state(argument_attributes(argument)):
            states.append(State.of(argument, place.offset))
            drop_argument(function, argument)
        else:
            move_port(b, function, argument, made)
    if states:
        module = function.parent_op()
        assert isinstance(module, ModuleOp)
        add_reset(module, function, pools[ARENA_POOL].type, states)


def behind_constants(b: LoopBuilder) -> InsertPoint:
    """The start of a function, behind the constants that its builder has built."""
    last = b.last_constant
    return InsertPoint.after(last) if last is not None else InsertPoint.at_start(b.block)


def append_argument(function: FuncOp, pool: Pool) -> SSAValue:
    """Add a pool behind the arguments of a function."""
    block = function.body.blocks[0]
    value = block.insert_arg(pool.type, len(block.args))
    value.name_hint = pool.name
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    function.function_type = FunctionType.from_lists([*inputs, pool.type], outputs)
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([*function.arg_attrs.data, DictionaryAttr({})])
    return value


def view(
    b: LoopBuilder, op: Operation, buffer: SSAValue, place: Place, pools: Mapping[str, SSAValue]
) -> SSAValue:
    """A view of a pool with the type of a buffer, at its offset.

    Raises: Refusal, attached to `op`, if the buffer does not lie in the pool.
    """
    type_ = memref_type(buffer)
    count, size = storage_elements(type_), element_bytes(type_)
    pool = pools.get(place.pool)
    if pool is None:
        key = SIZES[place.pool]
        refuse(op, f"a buffer has an offset, but no function has `{key.name}`; run {key.writers}")
    space = memref_type(pool).get_shape()[0]
    if count is None:
        refuse(op, f"expected a buffer with a static layout, got {type_}")
    if place.offset % size or not 0 <= place.offset <= space - count * size:
        refuse(
            op,
            f"bytes {place.offset} to {place.offset + count * size - 1} are no place for {type_} "
            f"in {place.pool} of {space} bytes; expected an aligned place inside",
        )
    offset, shape, strides = type_.get_offset() or 0, type_.get_shape(), type_.get_strides() or ()
    is_dense = not offset and strides == MemRefType(type_.element_type, shape).get_strides()
    extents = shape if is_dense else [count]
    plain = MemRefType(type_.element_type, extents, memory_space=type_.memory_space)
    made = b.insert(memref.ViewOp(pool, b.value(place.offset), [], plain)).result
    if is_dense:
        return made
    steps = [step or 0 for step in strides]
    cast = memref.ReinterpretCastOp.from_dynamic(made, [offset], shape, steps, type_)
    return b.insert(cast).result


def replace_allocation(op: Operation, made: SSAValue) -> None:
    """Put a view in the place of an allocation, which is never freed."""
    buffer = op.results[0]
    for user in [use.operation for use in buffer.uses]:
        if isinstance(user, memref.DeallocOp):
            user.detach()
            user.erase()
    made.name_hint = buffer.name_hint
    buffer.replace_all_uses_with(made)
    op.detach()
    op.erase()


def move_port(b: LoopBuilder, function: FuncOp, port: BlockArgument, place: SSAValue) -> None:
    """Copy a port into its place in the arena, or out of it.

    Nothing is copied at run time if the caller's pointer is that place.
    """
    attributes = argument_attributes(port)
    address = b.insert(memref.ExtractAlignedPointerAsIndexOp.get(port)).aligned_pointer
    inside = b.insert(memref.ExtractAlignedPointerAsIndexOp.get(place)).aligned_pointer
    elsewhere = b.insert(arith.CmpiOp(address, inside, "ne"), "elsewhere").result
    if is_input(attributes):
        copy_if(b, elsewhere, port, place)
    if is_output(attributes):
        for op in walk_kind(function, ReturnOp):
            here, b.builder.insertion_point = b.builder.insertion_point, InsertPoint.before(op)
            copy_if(b, elsewhere, place, port)
            b.builder.insertion_point = here


def copy_if(b: LoopBuilder, condition: SSAValue, source: SSAValue, target: SSAValue) -> None:
    """Copy a buffer to another of the same type, gaps included, if a condition holds."""

    def copy() -> tuple[()]:
        b.insert(memref.CopyOp(*(gapless(b, each) for each in (source, target))))
        return ()

    b.choose(condition, copy)


def gapless(b: LoopBuilder, buffer: SSAValue) -> SSAValue:
    """The memory of a buffer with a layout of its own as a vector; other buffers as they are."""
    type_ = memref_type(buffer)
    count = storage_elements(type_) or 0
    plain = MemRefType(type_.element_type, type_.get_shape(), memory_space=type_.memory_space)
    if type_ == plain and count == prod(type_.get_shape()):
        return buffer
    flat = MemRefType(type_.element_type, [count], memory_space=type_.memory_space)
    return b.insert(memref.ReinterpretCastOp.from_dynamic(buffer, [0], [count], [1], flat)).result
