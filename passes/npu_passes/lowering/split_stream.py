"""`npu-split-stream`: cut a function at the loop over the rows of its input (on loops).

    func.func @f(%x: memref<1x3x32x32xi8> {npu.stream}, %out: ... {sram.output}) {
      A                                            // fills rings
      scf.for %t = 0 to 34 { B } {npu.stream_steps = array<i64: 32, 0>}
      C
    }
becomes
    func.func @f_begin() attributes {npu.stream_part = "begin"} { A }
    func.func @f_push_rows(%x: memref<1x3x32x32xi8> {npu.stream}, %n: i32) -> i32 {
      if 0 <= %n <= 32 - %count {
        B for %n steps, with rows 0 to %n of %x
        %count += %n
        0
      } else { 3 }
    }
    func.func @f_finish(%out: ... {sram.output}) -> i32 {
      if %count = 32 { B for the last two steps, without %x; C; 0 } else { 3 }
    }

The decision: what is in the arena between two calls. All offsets are chosen for one function, so a
ring keeps its place from the first row to the last one, and so does the buffer with
`npu.stream_count`. Nothing else is alive at the end of a step: views and constants are built again
in each function, and an output that the loop writes is a buffer at its offset until `@f_finish`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from npu_dialect.arguments import argument_attributes, is_output, is_streamed
from npu_dialect.attributes import SRAM_OFFSET
from npu_dialect.npu.row_windows import row_axis
from npu_dialect.sram import AllocOp
from npu_dialect.stream_attributes import STREAM_COUNT, STREAM_PART, STREAM_PARTS, STREAM_STEPS
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.port_attributes import array_of
from npu_passes.support.refuse import RefusingPass, refuse
from npu_passes.support.symbols import GlobalNames

BEGIN, PUSH, FINISH = STREAM_PARTS
"""Each is the end of its function's name, too."""

OUT_OF_TURN = 3
"""What a function returns if there are more rows than the input has, or fewer."""


@dataclass(frozen=True)
class SplitStreamPass(RefusingPass):
    """Cut functions with a streamed input into three; see the module."""

    name = "npu-split-stream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Cut each function that has a loop over the rows of its input."""
        for function in [each for each in op.ops if isinstance(each, FuncOp)]:
            loops = [each for each in function.walk() if STREAM_STEPS.is_on(each)]
            if not loops:
                continue
            stream = Stream.of(function, loops[0])
            names = GlobalNames.of(function)
            for made in (stream.begin(), stream.push(), stream.finish()):
                made.sym_name = StringAttr(names.fresh(made.sym_name.data))
                Rewriter.insert_op(made, InsertPoint.before(function))
            Rewriter.erase_op(function)


@dataclass(frozen=True)
class Stream:
    """A function with a streamed input of `rows` rows; row s is read in step s + `delay`."""

    function: FuncOp
    loop: scf.ForOp
    argument: BlockArgument
    count: SSAValue
    rows: int
    delay: int

    @staticmethod
    def of(function: FuncOp, loop: Operation) -> Stream:
        """Read a function.

        Raises: PassFailedException if the loop is not in its block, or if a part is missing.
        """
        counts = [op for op in function.walk() if STREAM_COUNT.is_on(op)]
        streamed = [arg for arg in function.args if is_streamed(argument_attributes(arg))]
        if not isinstance(loop, scf.ForOp) or loop.parent_block() is not function.body.block:
            refuse(loop, "expected a loop in the block of its function")
        if len(counts) != 1 or len(streamed) != 1 or loop.res:
            refuse(loop, "expected one input with npu.stream and one buffer with npu.stream_count")
        steps = STREAM_STEPS.get(loop) or ()
        if len(steps) != 2 or (known(loop.ub) or 0) < sum(steps):
            refuse(loop, "expected npu.stream_steps = array<i64: rows, delay>, and as many steps")
        rows, delay = steps
        return Stream(function, loop, streamed[0], counts[0].results[0], rows, delay)

    def begin(self) -> FuncOp:
        """What stands before the loop, and the steps before the first row arrives."""
        part = Part(self, {})
        for op in self.function.body.block.ops:
            if op is self.loop:
                break
            part.copy(op)
        b = part.builder
        if self.delay:
            part.steps(b.value(0), b.value(self.delay))
        return part.made(BEGIN, [])

    def push(self) -> FuncOp:
        """The steps in which some rows arrive."""
        part = Part(self, {}, [self.argument.type, i32])
        rows, number = part.block.args
        rows.name_hint, number.name_hint = self.argument.name_hint or "rows", "n"
        part.values[self.argument] = rows
        b = part.builder
        done = b.load(part.value(self.count), [0], "done")
        room = b.binary(arith.SubiOp, b.integer(self.rows), done)
        positive = b.compare(arith.CmpiOp, number, b.integer(0), "sge")
        fits = b.binary(arith.AndIOp, positive, b.compare(arith.CmpiOp, number, room, "sle"))

        def steps() -> tuple[SSAValue]:
            first = b.insert(arith.IndexCastOp(done, IndexType()), "first").result
            more = b.insert(arith.IndexCastOp(number, IndexType())).result
            start = b.value(b.add(first, self.delay))
            part.steps(start, b.value(b.add(start, more, "stop")), first)
            b.store(b.binary(arith.AddiOp, done, number), part.value(self.count), [0])
            return (b.integer(0),)

        status = b.choose(fits, steps, lambda: (b.integer(OUT_OF_TURN),), (i32,))
        marks = [argument_attributes(self.argument), dict[str, Attribute]()]
        return part.made(PUSH, marks, status)

    def finish(self) -> FuncOp:
        """The steps that are left when all rows are there, and what stands behind the loop."""
        outputs = [arg for arg in self.function.args if arg is not self.argument]
        part = Part(self, {}, [arg.type for arg in outputs])
        for old, new in zip(outputs, part.block.args, strict=True):
            new.name_hint = old.name_hint
            part.values[old] = new
        b = part.builder
        done = b.load(part.value(self.count), [0], "done")
        whole = b.compare(arith.CmpiOp, done, b.integer(self.rows), "eq")

        def rest() -> tuple[SSAValue]:
            part.steps(b.value(self.rows + self.delay), part.value(self.loop.ub))
            behind = self.loop.next_op
            while behind is not None and not isinstance(behind, ReturnOp):
                part.copy(behind)
                behind = behind.next_op
            return (b.integer(0),)

        status = b.choose(whole, rest, lambda: (b.integer(OUT_OF_TURN),), (i32,))
        return part.made(FINISH, [argument_attributes(arg) for arg in outputs], status)


@dataclass
class Part:
    """A function that is being built; `values` are those of the whole function that it has."""

    stream: Stream
    values: dict[SSAValue, SSAValue]
    types: Sequence[Attribute] = ()
    block: Block = field(init=False)
    builder: LoopBuilder = field(init=False)
    last: ReturnOp = field(init=False)
    top: Operation | None = None
    """The last one of the views and constants that were built again."""

    def __post_init__(self) -> None:
        """Start with an empty block; a placeholder of its return marks where ops are built."""
        self.block, self.last = Block(arg_types=self.types), ReturnOp()
        self.block.add_op(self.last)
        self.builder = LoopBuilder(self.last)

    def made(
        self, name: str, marks: Sequence[Mapping[str, Attribute]], status: Sequence[SSAValue] = ()
    ) -> FuncOp:
        """The function, which returns `status`; `marks` are the attributes of its arguments."""
        Rewriter.replace_op(self.last, ReturnOp(*status))
        whole = self.stream.function
        type_ = FunctionType.from_lists(self.types, [value.type for value in status])
        made = FuncOp(f"{whole.sym_name.data}_{name}", type_, Region(self.block))
        made.arg_attrs = array_of(marks)
        made.attributes |= whole.attributes
        STREAM_PART.set(made, name)
        return made

    def value(self, old: SSAValue) -> SSAValue:
        """What stands for a value of the whole function; a view or constant is built again.

        Raises: PassFailedException, attached to its op, if it cannot be built again.
        """
        if old in self.values:
            return self.values[old]
        op = old.owner
        if isinstance(op, Operation):
            if op.regions or not (isinstance(op, AllocOp) or is_side_effect_free(op)):
                refuse(op, f"expected no value that lives from one call to the next, got {op.name}")
            new = op.clone({each: self.value(each) for each in op.operands})
        else:
            new = self.placed(old)
        self.first(new)
        self.values |= dict(zip(op.results if isinstance(op, Operation) else (old,), new.results))
        return self.values[old]

    def placed(self, argument: SSAValue) -> Operation:
        """The buffer at the offset of an output, which the caller has not given yet.

        Raises: PassFailedException, attached to the function, if there is none.
        """
        marks = argument_attributes(argument)
        offset = SRAM_OFFSET.of(marks)
        if not is_output(marks) or offset is None:
            refuse(self.stream.function, "expected outputs with sram.offset, and no other argument")
        return AllocOp(memref_type(argument), offset)

    def first(self, op: Operation) -> None:
        """Insert an op where all of the function sees it, behind those inserted before."""
        place = InsertPoint.at_start(self.block)
        Rewriter.insert_op(op, InsertPoint.after(self.top) if self.top is not None else place)
        self.top = op

    def copy(self, op: Operation) -> None:
        """Copy an op to where the builder is."""
        for value in outer_values(op):
            self.value(value)
        if any(result in self.values for result in op.results):
            return
        self.builder.insert(op.clone(self.values))

    def steps(self, start: SSAValue, stop: SSAValue, done: SSAValue | None = None) -> None:
        """Copy the loop, from one step to another.

        Rows of the input are read from row `done` on, which is the first one that is given here.
        Without it, none is read.
        """
        loop = self.stream.loop
        ends = known(start), known(stop)
        if done is None and ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
            return
        for value in outer_values(loop):
            if value is not self.stream.argument:
                self.value(value)
        mapped = {self.stream.argument: self.stream.argument, **self.values}
        new = loop.clone(mapped)
        STREAM_STEPS.drop(new)
        new.operands[0], new.operands[1] = start, stop
        self.builder.insert(new)
        argument = mapped[self.stream.argument]
        readers = [op for op in new.walk() if argument in op.operands]
        for op in readers:
            if done is not None:
                shift(op, done)
            elif new.is_ancestor(op):
                drop_branch(op, new)


def known(value: SSAValue) -> int | None:
    """The integer that a value is, if it is a constant."""
    op = value.owner
    found = op.value if isinstance(op, arith.ConstantOp) else None
    return getattr(getattr(found, "value", None), "data", None)


def outer_values(op: Operation) -> Iterator[SSAValue]:
    """The values that an op, or one in its regions, uses from outside of it."""
    inner = set(op.walk())
    for each in op.walk():
        for value in each.operands:
            owner = value.owner
            if (owner if isinstance(owner, Operation) else owner.parent_op()) not in inner:
                yield value


def drop_branch(op: Operation, loop: scf.ForOp) -> None:
    """Put the other branch in place of the one that reads a row of the input, maybe more than once.

    Raises: PassFailedException, attached to the op, if it is read in no branch.
    """
    branch = op.parent_op()
    while branch is not None and not isinstance(branch, scf.IfOp) and branch is not loop:
        branch = branch.parent_op()
    if not isinstance(branch, scf.IfOp) or branch.results:
        refuse(op, "expected a branch for the steps in which no row arrives")
    if branch.false_region.blocks:
        other = branch.false_region.block
        assert other.last_op is not None
        other.last_op.detach()
        Rewriter.inline_block(other, InsertPoint.before(branch))
    Rewriter.erase_op(branch, safe_erase=False)


def shift(op: Operation, done: SSAValue) -> None:
    """Let a view of a row of the input count from row `done` on.

    Raises: PassFailedException, attached to the op, if it is no view of one row.
    """
    if not isinstance(op, memref.SubviewOp) or not isinstance(op.source.type, MemRefType):
        refuse(op, f"expected a view of one row of the streamed input, got {op.name}")
    axis = row_axis(op.source)
    offsets = op.static_offsets.get_values()
    dynamic = [place for place, at in enumerate(offsets) if at == DYNAMIC_INDEX]
    if dynamic != [axis] or op.static_sizes.get_values()[axis] != 1:
        refuse(op, "expected a view of one row of the streamed input, of all its columns")
    b = LoopBuilder(op)
    op.operands[1] = b.value(b.sub(op.offsets[0], done, "given"))
