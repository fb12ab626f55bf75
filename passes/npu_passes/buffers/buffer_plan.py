"""In which buffer each tensor of a function will live: the analysis behind `npu-bufferize`.

Level of IR: layers on tensors, one block per function. It decides which layers run in place and
which ones write straight into an output of the function, and changes nothing. A layer writes into
an off-chip output only if nothing else reads what it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    MemRefType,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, Use
from xdsl.traits import ConstantLike
from xdsl.utils.hints import isa

from npu_dialect.arguments import argument_attributes, is_state, is_streamed
from npu_dialect.attributes import STATE
from npu_dialect.computing import computation_of, is_empty
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ReshapeOp, SliceOp, ViewOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_regions import overwrites_input
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import is_within
from npu_passes.buffers.spaces import Spaces, dense_type, reshaped
from npu_passes.support.port_attributes import attributes_of
from npu_passes.support.refuse import refuse


@dataclass(frozen=True)
class BufferPlan:
    """In which buffers the tensors of one function live.

    `root`: for each value, the value whose buffer it shares. That is the viewed value for a view,
    the overwritten one for a layer in place, and otherwise the value itself. `types`: the type of
    each value's buffer. `in_place`: for each layer in place, the input that it overwrites.
    `returned`: the returned tensors, each with its position among the returned values. `direct`:
    each root whose buffer is an output of the function, with the position of that output. `states`:
    the argument of each returned tensor that is a state, by the position of the tensor.
    """

    root: Mapping[SSAValue, SSAValue]
    types: Mapping[SSAValue, MemRefType[Attribute]]
    in_place: Mapping[Operation, SSAValue]
    direct: Mapping[SSAValue, int]
    returned: tuple[tuple[int, SSAValue], ...]
    states: Mapping[int, BlockArgument]

    @property
    def copied(self) -> tuple[tuple[int, SSAValue], ...]:
        """The returned tensors that must be copied to their output, each with its position.

        A state that a layer has changed in place, or that no layer changes, is there already.
        """
        return tuple(
            (place, value)
            for place, value in self.returned
            if self.direct.get(self.root[value]) != place
            and self.states.get(place) is not self.root[value]
        )


def is_tensor(type_: Attribute) -> bool:
    """Whether a type is a tensor of any kind."""
    return isinstance(type_, TensorType | UnrankedTensorType)


def touches_tensors(op: Operation) -> bool:
    """Whether an op, or an op inside it, has a tensor operand, result or block argument."""
    return any(
        is_tensor(type_)
        for inner in op.walk()
        for type_ in (
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

    Raises: PassFailedException, attached to the offending op, if the function has no body, several
    blocks, ops on tensors other than layers and constants, or tensors of unknown shape.
    """
    if function.is_declaration:
        refuse(
            function, "expected a function with a body: the layout of an external one is unknown"
        )
    if len(function.body.blocks) != 1:
        refuse(
            function,
            f"expected one block, got {len(function.body.blocks)}: control flow is not supported",
        )
    block = function.body.block
    last = block.last_op
    if not isinstance(last, func.ReturnOp):
        refuse(function, "expected func.return at the end")
    for arg in block.args:
        check_static(function, arg.type)
    for op in block.ops:
        if op is last or computes(op) or is_empty(op) or not touches_tensors(op):
            continue
        if constant_value(op) is None:
            refuse(op, f"expected layers only, got {op.name}")
    for op in block.ops:
        for type_ in op.result_types:
            check_static(op, type_)
    return block, last


def computes(op: Operation) -> bool:
    """Whether an op computes a map: a layer, layers that run row by row, or of another dialect."""
    return isinstance(op, LayerOp | RowsOp) or computation_of(op) is not None


def check_static(op: Operation, type_: Attribute) -> None:
    """Check that a type is no tensor of unknown shape.

    Raises: PassFailedException, attached to the op, if it is.
    """
    if isinstance(type_, UnrankedTensorType) or (
        isinstance(type_, TensorType) and not type_.has_static_shape()
    ):
        refuse(op, f"expected static shapes, got {type_}")


def plan_buffers(function: func.FuncOp, spaces: Spaces) -> BufferPlan:
    """Plan the buffers of a function.

    Raises: PassFailedException if the function cannot be bufferized; see `body_of`.
    """
    block, last = body_of(function)
    states = states_of(function, block, last)
    sharing = Sharing(block, spaces, states)
    for op in block.ops:
        sharing.add(op)
    returned = tuple((i, value) for i, value in enumerate(last.operands) if is_tensor(value.type))
    direct = {
        root: place
        for root, place in written_straight(returned, sharing).items()
        if sharing.types[root].memory_space == spaces.ends
    }
    return BufferPlan(sharing.root, sharing.types, sharing.in_place, direct, returned, states)


def states_of(function: func.FuncOp, block: Block, last: func.ReturnOp) -> dict[int, BlockArgument]:
    """The arguments that are states, by the positions of the results that are their next values.

    Raises: PassFailedException, attached to the function, if a state has not one argument and one
    result, or if their types differ.
    """
    arguments = attributes_of(function.arg_attrs, len(block.args))
    results = attributes_of(function.res_attrs, len(last.operands))
    names = [[STATE.of(each, function) for each in ports] for ports in (arguments, results)]
    found: dict[int, BlockArgument] = {}
    for name in dict.fromkeys(name for ports in names for name in ports if name is not None):
        places = [[i for i, each in enumerate(ports) if each == name] for ports in names]
        if [len(each) for each in places] != [1, 1]:
            refuse(function, f"expected one argument and one result of state '{name}'")
        ((place,), (given,)) = places
        argument, value = block.args[place], last.operands[given]
        if argument.type != value.type or not is_tensor(argument.type):
            refuse(
                function,
                f"expected tensors of one type for state '{name}', got {argument.type} and "
                f"{value.type}",
            )
        found[given] = argument
    return found


class Sharing:
    """Finds op by op which values share a buffer.

    `root`, `types` and `in_place` are those of `BufferPlan`. `place` is the position of each op in
    the block; `last_use` is the position of the last op that uses the buffer of a root, or -1.
    `parts` are the values that may have only some elements of their root's buffer.
    """

    def __init__(self, block: Block, spaces: Spaces, states: Mapping[int, BlockArgument]) -> None:
        """Start with the arguments of the block."""
        self.states = states
        self.block = block
        self.spaces = spaces
        self.place = {op: index for index, op in enumerate(block.ops)}
        self.root: dict[SSAValue, SSAValue] = {}
        self.types: dict[SSAValue, MemRefType[Attribute]] = {}
        self.last_use: dict[SSAValue, int] = {}
        self.in_place: dict[Operation, SSAValue] = {}
        self.parts: set[SSAValue] = set()
        for arg in block.args:
            self.share(arg, arg)
            if is_tensor(arg.type):
                self.types[arg] = self.argument_type(arg)

    def argument_type(self, arg: BlockArgument) -> MemRefType[Attribute]:
        """The type of the buffer of an argument: of a state, an input in rows, or another one."""
        if arg in self.states.values():
            return dense_type(arg.type, self.spaces.maps)
        if is_streamed(argument_attributes(arg)):
            return self.spaces.stream_type(arg.type)
        return self.spaces.end_type(arg.type)

    def share(self, value: SSAValue, home: SSAValue) -> None:
        """Note the root of a value, and the last use of the root's buffer by this value."""
        self.root[value] = home
        used = max((self.place[user(self.block, use)] for use in value.uses), default=-1)
        self.last_use[home] = max(self.last_use.get(home, -1), used)

    def add(self, op: Operation) -> None:
        """Note the results of an op."""
        if isinstance(op, ViewOp) and op.results:
            self.add_view(op)
        elif computes(op) and op.results:
            self.add_layer(op)
        elif is_empty(op):
            self.share(op.results[0], op.results[0])
            self.types[op.results[0]] = self.spaces.map_type(op.results[0].type)
        else:
            for result in op.results:
                self.share(result, result)
                if is_tensor(result.type):
                    self.types[result] = self.spaces.parameter_type(result.type)

    def add_view(self, op: ViewOp) -> None:
        """Note a view; a reshape that strides cannot express gets a dense buffer instead."""
        source, result = op.input, op.results[0]
        if isinstance(op, SliceOp):
            type_ = sliced(op, self.types[source])
        else:
            found = reshaped(self.types[source], shape_of(result))
            type_ = None if found is None else found[0]
        self.share(result, result if type_ is None else self.root[source])
        self.types[result] = type_ or dense_type(result.type, self.spaces.maps)
        if type_ is not None and (isinstance(op, SliceOp) or source in self.parts):
            self.parts.add(result)

    def add_layer(self, op: Operation) -> None:
        """Note a layer: it overwrites an input, or gets a buffer, which may be an output."""
        result, target = op.results[0], None
        if not isinstance(op, RowsOp) or (op.is_region and overwrites_input(op)):
            target = self.overwritten(op)
        if target is not None:
            self.in_place[op] = target
        self.share(result, result if target is None else self.root[target])
        if target is not None:
            self.types[result] = self.types[target]
        elif self.spaces.ends_off_chip and only_returned(result):
            self.types[result] = self.spaces.end_type(result.type)
        else:
            self.types[result] = self.spaces.map_type(result.type)

    def overwritten(self, op: Operation) -> SSAValue | None:
        """The input that a layer may overwrite: a map with the type of its result that dies here.

        None if there is no such input. Rows that overwrite their input row by row count as a layer.
        Other inputs in the same buffer must also be read element by element and have the same
        shape. A returned value does not die. A function argument is not overwritten if it does not
        lie on chip, as that memory is the caller's. Nor is it if the result is returned: writing
        straight into the output needs the same memory and saves a copy.
        """
        inputs, in_place, parameters = overwritable(op)
        for value in (inputs[index] for index in in_place):
            if value in parameters or value in self.parts:
                continue
            home = self.root[value]
            owner = home.owner
            if value.type != op.results[0].type or self.last_use[home] > self.place[op]:
                continue
            if isinstance(owner, Operation) and not computes(owner):
                continue
            given = self.spaces.ends_off_chip or is_streamed(argument_attributes(home))
            spared = given or is_returned(op.results[0])
            if isinstance(home, BlockArgument) and spared:
                continue
            same = [index for index, other in enumerate(inputs) if self.root.get(other) is home]
            shape = shape_of(value)
            if all(index in in_place and shape_of(inputs[index]) == shape for index in same):
                return value
        return None


def overwritable(
    op: Operation,
) -> tuple[Sequence[SSAValue], Sequence[int], Sequence[SSAValue]]:
    """What an op reads, the positions of what it may overwrite, and what of it is learned."""
    if isinstance(op, RowsOp):
        return inputs_of(op), (0,), ()
    if isinstance(op, LayerOp):
        return op.inputs, op.in_place_inputs(), op.parameter_inputs
    found = computation_of(op)
    assert found is not None
    return found.reads, found.in_place_reads(), found.parameter_inputs


def inputs_of(rows: RowsOp) -> tuple[SSAValue, ...]:
    """What layers that run row by row read from outside, the input first."""
    outside = (value for op in rows.layers for value in op.inputs if not is_within(rows, value))
    return tuple(dict.fromkeys((rows.input, *outside)))


def user(block: Block, use: Use) -> Operation:
    """The op of a block that contains a use: the user itself, or the op around it."""
    op = block.find_ancestor_op_in_block(use.operation)
    assert op is not None
    return op


def is_returned(value: SSAValue) -> bool:
    """Whether a value, or a reshape of it, is returned."""
    return any(
        isinstance(use.operation, func.ReturnOp)
        or (isinstance(use.operation, ReshapeOp) and is_returned(use.operation.results[0]))
        for use in value.uses
    )


def only_returned(value: SSAValue) -> bool:
    """Whether a value has a single use, which returns it or a reshape of it, but as no state."""
    if not value.has_one_use():
        return False
    (use,) = value.uses
    op = use.operation
    if isinstance(op, func.ReturnOp):
        return not returns_state(op, use.index)
    return isinstance(op, ReshapeOp) and only_returned(op.results[0])


def returns_state(op: func.ReturnOp, place: int) -> bool:
    """Whether an operand of a return is a state's next value."""
    function = op.parent_op()
    attributes = function.res_attrs if isinstance(function, func.FuncOp) else None
    return attributes is not None and is_state(attributes.data[place].data)


def written_straight(
    returned: Sequence[tuple[int, SSAValue]], sharing: Sharing
) -> dict[SSAValue, int]:
    """The roots that a layer computes and that are returned as a whole, but as no state.

    Each has its first position of return.
    """
    direct: dict[SSAValue, int] = {}
    for place, value in returned:
        root = sharing.root[value]
        if place in sharing.states:
            continue
        owner = root.owner
        if value not in sharing.parts and isinstance(owner, Operation) and computes(owner):
            direct.setdefault(root, place)
    return direct


def sliced(op: SliceOp, source: MemRefType[Attribute]) -> MemRefType[Attribute]:
    """The type of a view with the elements of a slice; `source` is the type of its buffer."""
    boxes = (int_values(op.offsets), int_values(op.sizes), op.steps)
    return memref.SubviewOp.infer_result_type(source, *boxes)
