"""`npu-bufferize`: turn tensors into buffers, and layers into destination style.

Level of IR: from layers on tensors to the same layers in destination style on memrefs. It decides
the memory space and layout of each value (`spaces.py`), which layers run in place, and which ones
write straight into an output. Feature maps lie on chip. Parameters lie in read-only flash (paper
002, section 3.3), or in off-chip memory on a machine with DMA.

    func.func @f(%x: tensor<4xf32>) -> tensor<2x2xf32> {
      %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
      %z = npu.softmax %y axis 0 : tensor<4xf32> -> tensor<4xf32>
      %r = npu.reshape %z : tensor<4xf32> -> tensor<2x2xf32>
      func.return %r : tensor<2x2xf32>
    }

becomes

    func.func @f(%x: memref<4xf32, #npu.sram> {sram.input},
                 %output: memref<2x2xf32, #npu.sram> {sram.output}) {
      npu.relu ins(%x : ...) outs(%x : ...)
      %z = memref.reinterpret_cast %output to offset: [0], sizes: [4], strides: [1] : ...
      npu.softmax ins(%x : ...) outs(%z : ...) axis 0
      func.return
    }

The function may overwrite the caller's inputs. A returned value is copied to its output at the end
if it is an input, a constant, or is returned twice.

The rows of an input with `npu.stream` arrive one at a time. A region reads them where the caller
has them, row by row: `memref<1x3x32x32xi8, strided<[3072, 32, 96, 1]>>`. A buffer counts them; what
it holds is kept until the function ends.

Ops of other dialects that say how they compute (`npu_dialect/computing.py`), such as those of
`linalg`, are put into destination style too. A `tensor.empty` needs no buffer.

On a machine with DMA, inputs and outputs stay in the caller's memory (`#npu.dram`), and no layer
overwrites the inputs. An output that a layer reads too is computed on chip and copied at the end.
A slice is a view too, and an output that is one is copied at the end. If strides cannot express a
reshape, because the map lies in patches or is a slice, the map is copied into a dense buffer:

    %dense = sram.alloc : memref<1x8x6x6xf32, #npu.sram>
    "memref.copy"(%map, %dense) : (memref<1x8x6x6xf32, strided<[512, 64, 8, 1]>, #npu.sram>, ...)
    %flat = memref.reinterpret_cast %dense to offset: [0], sizes: [1, 288], strides: [288, 1] : ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.arguments import argument_attributes, is_streamed
from npu_dialect.attributes import LAYER, PORT, SRAM_INPUT, SRAM_OUTPUT
from npu_dialect.computing import Computation, computation_of, is_empty
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ComputedOp, ReshapeOp, SliceOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_windows import row_axis
from npu_dialect.npu.rows import RowsOp
from npu_dialect.sram import AllocOp
from npu_dialect.stream_attributes import STREAM_COUNT
from npu_dialect.walking import walk_kind
from npu_passes.buffers.buffer_plan import (
    BufferPlan,
    constant_value,
    is_tensor,
    plan_buffers,
    touches_tensors,
)
from npu_passes.buffers.expand_regions import expand_region
from npu_passes.buffers.expand_rows import expand_rows
from npu_passes.buffers.spaces import Spaces, dense_type
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.port_attributes import array_of, attributes_of
from npu_passes.support.refuse import RefusingPass, refuse
from npu_passes.support.symbols import GlobalNames, identifier


@dataclass(frozen=True)
class BufferizePass(RefusingPass):
    """Put feature maps into on-chip buffers, and parameters into flash or off-chip memory.

    Functions without tensors are not changed. Rejects functions that are private or that an op
    refers to, control flow, ops on tensors that are no layers, and dynamic shapes.
    """

    name = "npu-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Bufferize every function that has tensors."""
        functions = [
            function
            for function in op.walk()
            if isinstance(function, func.FuncOp)
            and (touches_tensors(function) or any(map(is_tensor, signature(function))))
        ]
        used = set(used_symbols(op))
        spaces = Spaces.of_module(op)
        plans: list[tuple[func.FuncOp, BufferPlan]] = []
        for function in functions:
            name = function.sym_name.data
            if name in used:
                refuse(function, f"expected functions that nothing refers to, got @{name}")
            if function.sym_visibility and function.sym_visibility.data == "private":
                refuse(function, f"expected public functions, got private @{name}")
            plans.append((function, plan_buffers(function, spaces)))
            check_streams(function, spaces)
        for function, plan in plans:
            Bufferizer(function, plan, spaces, GlobalNames.of(function)).run()


def hint_of(name: str) -> str:
    """The name hint of an output; a name of digits only gets a prefix, as xDSL drops digits."""
    text = identifier(name)
    return f"output{text}" if text[1:].isdigit() and text[0] == "_" else text


def signature(function: func.FuncOp) -> Iterator[Attribute]:
    """The types of the arguments and results of a function."""
    yield from function.function_type.inputs
    yield from function.function_type.outputs


def used_symbols(module: ModuleOp) -> Iterator[str]:
    """The symbols that the ops of a module refer to."""
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, SymbolRefAttr):
                yield attribute.root_reference.data


@dataclass(frozen=True)
class Bufferizer:
    """Rewrites one function by its plan.

    `buffers` maps each tensor converted so far to its memref. `outputs` maps the position of a
    returned tensor to the argument that is its output.
    """

    function: func.FuncOp
    plan: BufferPlan
    spaces: Spaces
    names: GlobalNames
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    outputs: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    counts: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The buffers that count the rows of streamed inputs, with the numbers of these."""

    def run(self) -> None:
        """Rewrite signature and body."""
        block = self.function.body.block
        old = [op for op in block.ops if touches_tensors(op)]
        self.convert_arguments(block)
        for op in old:
            if isinstance(op, func.ReturnOp):
                self.convert_return(op)
            elif isinstance(op, ReshapeOp):
                self.convert_reshape(op)
            elif isinstance(op, SliceOp):
                self.convert_slice(op)
            elif isinstance(op, RowsOp):
                self.convert_rows(op)
            elif (computation := computation_of(op)) is not None:
                self.convert_computation(computation)
            elif is_empty(op):
                self.convert_empty(op)
            else:
                self.convert_constant(op)
        for op in reversed(old):
            Rewriter.erase_op(op)
        for arg in [arg for arg in block.args if is_tensor(arg.type)]:
            block.erase_arg(arg)

    def convert_arguments(self, block: Block) -> None:
        """Turn tensor arguments into marked memrefs, and tensor results into trailing arguments."""
        function = self.function
        res_attrs = attributes_of(function.res_attrs, len(function.function_type.outputs))
        given = dict(zip(block.args, attributes_of(function.arg_attrs, len(block.args))))
        states = {arg: given.pop(arg) for arg in self.plan.states.values()}
        arg_attrs: list[dict[str, Attribute]] = []
        for arg, attributes in given.items():
            if is_tensor(arg.type):
                self.map(arg, block.insert_arg(self.plan.types[arg], arg.index))
                if not is_streamed(attributes):
                    attributes |= self.spaces.input_mark.entry(True)
            arg_attrs.append(attributes)
        for place, value in self.plan.returned:
            if place in self.plan.states:
                continue
            out = block.insert_arg(self.spaces.end_type(value.type), len(block.args))
            attributes = res_attrs[place]
            name = PORT.of(attributes)
            out.name_hint = "output" if name is None else hint_of(name)
            self.outputs[place] = out
            arg_attrs.append({**attributes, **self.spaces.output_mark.entry(True)})
        for place, arg in self.plan.states.items():
            self.outputs[place] = block.insert_arg(self.plan.types[arg], len(block.args))
            self.map(arg, self.outputs[place])
            arg_attrs.append({**states[arg], **SRAM_INPUT.entry(True), **SRAM_OUTPUT.entry(True)})
        kept = [i for i in range(len(res_attrs)) if i not in self.outputs]
        results = [type_ for type_ in function.function_type.outputs if not is_tensor(type_)]
        arguments = [arg.type for arg in block.args if not is_tensor(arg.type)]
        function.function_type = FunctionType.from_lists(arguments, results)
        function.arg_attrs = array_of(arg_attrs)
        function.res_attrs = array_of([res_attrs[index] for index in kept])

    def convert_constant(self, op: Operation) -> None:
        """Turn a constant into a read-only global."""
        value, result = constant_value(op), op.results[0]
        assert value is not None
        type_ = self.plan.types[result]
        name = self.names.fresh(identifier(result.name_hint or wished_name(result)))
        self.insert(define(name, type_, value), self.names.before)
        get = memref.GetGlobalOp(name, type_)
        self.insert(get, op)
        self.map(result, get.memref)

    def convert_reshape(self, op: ReshapeOp) -> None:
        """Turn a reshape into a view; none is needed if the output itself has the wanted type."""
        result, source = op.results[0], self.buffers[op.inputs[0]]
        type_ = self.plan.types[result]
        straight = self.plan.direct.get(self.plan.root[result])
        copied = self.plan.root[result] is result
        if straight is not None and self.outputs[straight].type == type_ and not copied:
            self.buffers[result] = self.outputs[straight]
        elif result.first_use is not None:
            if copied:
                source = self.dense_copy(op.inputs[0], op, straight)
            elif type_.get_offset():  # counts from the start of the whole buffer
                source = self.buffers[self.plan.root[result]]
            self.map(result, self.view(source, type_, op))

    def convert_slice(self, op: SliceOp) -> None:
        """Turn a slice into a view."""
        result = op.results[0]
        if result.first_use is not None:
            boxes = (int_values(op.offsets), int_values(op.sizes), op.steps)
            view = memref.SubviewOp.get(self.buffers[op.input], *boxes, self.plan.types[result])
            view.attributes.update(op.attributes)
            self.insert(view, op)
            self.map(result, view.result)

    def dense_copy(self, value: SSAValue, op: Operation, output: int | None = None) -> SSAValue:
        """Copy a map into a dense on-chip buffer, in front of `op`; returns the buffer.

        It is a new one, or the memory of the function's output number `output`.
        """
        type_ = dense_type(value.type, self.spaces.maps)
        if output is None:
            alloc = AllocOp(type_)
            alloc.buffer.name_hint = value.name_hint
            self.insert(alloc, op)
            target = alloc.buffer
        else:
            target = self.view(self.outputs[output], type_, op, named=False)
        self.insert(memref.CopyOp(self.buffers[value], target), op)
        return target

    def convert_computation(self, computation: Computation) -> None:
        """Put a layer, or an op of another dialect, into destination style.

        A buffer that is not the one from which the result starts gets a copy of it first.
        """
        op, out = computation.op, self.destination(computation.op)
        start = computation.start
        if isinstance(op, LayerOp):
            new = op.rebuilt([self.buffers[value] for value in op.inputs], out)
            self.insert(new, op)
            if isinstance(new, ComputedOp):
                new.take_out()
            return
        if start is not None and self.buffers[start] is not out:
            self.insert(memref.CopyOp(self.buffers[start], out), op)
        count = len(op.operands) - computation.starts
        inputs = [self.buffers.get(value, value) for value in op.operands[:count]]
        self.insert(computation.on([*inputs, out]), op)

    def convert_empty(self, op: Operation) -> None:
        """Allocate a buffer for an empty tensor, if more than results start from it."""
        for use in op.results[0].uses:
            found = computation_of(use.operation)
            if found is None or op.results[0] in found.reads:
                alloc = AllocOp(self.plan.types[op.results[0]])
                self.insert(alloc, op)
                self.map(op.results[0], alloc.buffer)
                return

    def convert_rows(self, op: RowsOp) -> None:
        """Build the loop of layers that run row by row."""
        if op.is_streamed and not self.spaces.ends_off_chip:
            self.start_count(op)
        source, out = self.buffers[op.input], self.destination(op)
        expand = expand_region if op.is_region else expand_rows
        expand(op, source, out, self.buffers, self.spaces)
        for computed in list(walk_kind(self.function, ComputedOp)):
            if computed.destination is not None:
                computed.take_out()

    def destination(self, op: Operation) -> SSAValue:
        """The buffer that an op writes: the input it overwrites, an output, or a new one."""
        result = op.results[0]
        type_ = self.plan.types[result]
        straight = self.plan.direct.get(result)
        if (source := self.plan.in_place.get(op)) is not None:
            self.buffers[result] = self.buffers[source]
        elif straight is not None:
            self.buffers[result] = self.outputs[straight]
            if self.outputs[straight].type != type_:
                self.map(result, self.view(self.outputs[straight], type_, op, named=False))
        else:
            alloc = AllocOp(type_)
            self.insert(alloc, op)
            self.map(result, alloc.buffer)
        return self.buffers[result]

    def start_count(self, op: RowsOp) -> None:
        """Make the buffer that counts the rows of a streamed input: 0, and behind the end, more."""
        b = LoopBuilder(op)
        alloc = b.insert(AllocOp(MemRefType(i32, [1], memory_space=self.spaces.maps)), "count")
        STREAM_COUNT.set(alloc, True)
        b.store(b.integer(0), alloc.buffer, [0])
        self.counts[alloc.buffer] = shape_of(op.input)[row_axis(op.input)]

    def convert_return(self, op: func.ReturnOp) -> None:
        """Copy the outputs that no layer has written; the new return keeps only non-tensors.

        States are overwritten last. One that another state needs is read before that.
        """
        states = dict[SSAValue, SSAValue]()
        for place, value in self.plan.copied:
            source, target = self.buffers[value], self.outputs[place]
            off_chip = self.plan.types[value].memory_space != self.spaces.maps
            if off_chip and self.spaces.ends_off_chip and place not in self.plan.states:
                source = self.dense_copy(value, op)  # no transfer goes from off chip to off chip
            if place not in self.plan.states:
                self.insert(memref.CopyOp(source, target), op)
            elif self.plan.root[value] in self.plan.states.values():
                states[target] = self.dense_copy(value, op)
            else:
                states[target] = source
        for target, source in states.items():
            self.insert(memref.CopyOp(source, target), op)
        for count, rows in self.counts.items():
            b = LoopBuilder(op)
            b.store(b.integer(rows + 1), count, [0])
        new = func.ReturnOp(*(value for value in op.operands if not is_tensor(value.type)))
        new.attributes.update(op.attributes)
        self.insert(new, op)

    def view(
        self, source: SSAValue, type_: MemRefType[Attribute], op: Operation, *, named: bool = True
    ) -> SSAValue:
        """A view of a buffer with another type; `named`: it gets the attributes of `op`."""
        if source.type == type_:
            return source
        strides, offset = type_.get_strides(), type_.get_offset()
        assert strides is not None
        steps = [step for step in strides if step is not None]
        sizes = type_.get_shape()
        cast = memref.ReinterpretCastOp(source, [], [], [], [offset or 0], sizes, steps, type_)
        if named:
            cast.attributes.update(op.attributes)
        self.insert(cast, op)
        return cast.result

    def map(self, value: SSAValue, buffer: SSAValue) -> None:
        """Note the buffer of a tensor, and give it the name hint of the tensor if it has none."""
        self.buffers[value] = buffer
        if buffer.name_hint is None:
            buffer.name_hint = value.name_hint

    def insert(self, new: Operation, before: Operation) -> None:
        """Insert an op before another one."""
        Rewriter.insert_op(new, InsertPoint.before(before))


def check_streams(function: func.FuncOp, spaces: Spaces) -> None:
    """Check that regions take the rows of streamed inputs one at a time, and of no other map.

    Rows of inputs off chip are fetched one at a time.

    Raises: PassFailedException, attached to the reader, if one does not.
    """
    for op in function.body.block.ops:
        if isinstance(op, RowsOp) and op.is_streamed:
            if not spaces.ends_off_chip and not is_streamed(argument_attributes(op.input)):
                refuse(op, "expected an input of the function with npu.stream, got another map")
    for argument in function.args:
        if is_streamed(argument_attributes(argument)):
            check_readers(argument)


def check_readers(argument: SSAValue) -> None:
    """Check that only a region reads a streamed input. Raises as `check_streams`."""
    for use in argument.uses:
        op = use.operation
        rows = op if isinstance(op, RowsOp) else op.parent_op()
        if not isinstance(rows, RowsOp) or not rows.is_streamed or rows.input is not argument:
            name = LAYER.get(op) or op.name
            refuse(op, f"expected npu.rows to read the streamed input, got {name}")


def define(
    name: str, type_: MemRefType[Attribute], value: DenseIntOrFPElementsAttr
) -> memref.GlobalOp:
    """A read-only global."""
    return memref.GlobalOp.get(StringAttr(name), type_, value, constant=UnitAttr())


def wished_name(value: SSAValue) -> str:
    """A name for a constant without one, after its layer and role, such as `conv1_weight`."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, LayerOp) and op.layer_name:
            roles = [name for name in op.PARAMETERS if getattr(op, name) is value]
            return f"{op.layer_name}_{roles[0] if roles else 'constant'}"
    return "constant"
