"""Walks through a program in the order of its execution, and follows who owns each byte.

Runs of loads, stores and loops become nests, which are checked for all iterations at once. Loops
with calls, transfers or allocations are run iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect import dma, dram
from npu_dialect.arenas import arenas_of, memory_of_type
from npu_dialect.arguments import argument_attributes, is_input, is_output
from npu_dialect.attributes import ARENAS, DRAM_BYTES, LAYER, SRAM_OFFSET
from npu_dialect.kept_attributes import copied_constants
from npu_dialect.placed import PlacedAllocOp
from npu_tools.shadow.builder import Builder, Outside, Sequential, is_buffer
from npu_tools.shadow.faults import Fault, NotFollowed, Stop, name_of, place_of
from npu_tools.shadow.memory import VIEWS, Layout, Memory, buffer_bytes
from npu_tools.shadow.nest import Nest
from npu_tools.shadow.numbers import Large
from npu_tools.shadow.order import Place, Step, World, settle
from npu_tools.shadow.transfers import End, Transfer, start, wait
from npu_tools.shadow.values import Bound, Frame, Values, View

ALLOCATIONS = (PlacedAllocOp, memref.AllocOp, memref.AllocaOp)
EVENTS = (*ALLOCATIONS, func.CallOp, dma.StartOp, dma.WaitOp, memref.DeallocOp)
"""Ops that are run one by one."""
DEEPEST = 64
"""The most functions that call each other."""


class Execution(Values):
    """Runs the functions of a module; buffers in the arena must have an alignment in bytes."""

    def __init__(self, module: ModuleOp, world: World, alignment: int) -> None:
        super().__init__(module, world)
        self.alignment = alignment
        self.nests: dict[tuple[Operation, int], list[Nest]] = {}
        every = (each for each in module.ops if isinstance(each, func.FuncOp))
        self.functions = {function.sym_name.data: function for function in every}
        self.eventful: dict[Operation, bool] = {}

    # -- ops -------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Run the ops of a block, runs of ops without events as one nest each."""
        pending: list[Operation] = []
        for op in block.ops:
            if isinstance(op, ALLOCATIONS):
                self.allocate(op)
            elif self.has_events(op):
                self.run(pending)
                pending = []
                self.event(op)
            elif op.regions or (any(map(is_buffer, op.operands)) and not isinstance(op, VIEWS)):
                pending.append(op)
        self.run(pending)

    def has_events(self, op: Operation) -> bool:
        """Whether an op is an event or contains one."""
        if op not in self.eventful:
            self.eventful[op] = any(isinstance(inner, EVENTS) for inner in op.walk())
        return self.eventful[op]

    def event(self, op: Operation) -> None:
        """Run one op."""
        match op:
            case scf.ForOp():
                self.loop(op)
            case scf.IfOp():
                self.branch(op)
            case func.CallOp():
                self.call(op)
            case dma.StartOp():
                self.start(op)
            case dma.WaitOp():
                transfer = self.bound(op.token)
                if not isinstance(transfer, Transfer):
                    raise NotFollowed("expected a transfer that is known")
                wait(self.world, op, transfer)
            case memref.DeallocOp():
                pass
            case _:
                raise NotFollowed(f"expected loops, branches and calls, got {place_of(op)}")

    def run(self, ops: Sequence[Operation]) -> None:
        """Check a run of ops without events; if it is too coarse, take it apart."""
        if not ops:
            return
        try:
            nest = self.nest(ops)
        except Outside as error:
            where = place_of(error.op) + self.frame.context
            buffer = next(filter(is_buffer, error.op.operands))
            self.world.faults.add(Fault(where, name_of(buffer), None, error.what))
            raise Stop from None
        except (Sequential, Large):
            nest = None
        is_single = len(ops) == 1 and not isinstance(ops[0], scf.ForOp | scf.IfOp)
        if nest is not None:
            places = {value: self.view(value)[0] for value in nest.ports}
            step = Step(nest, places, self.frame.context)
            writer = self.frame.site or place_of(ops[0])
            if settle(self.world, step, writer, is_single=is_single):
                return
        elif is_single:
            raise NotFollowed(f"{place_of(ops[0])}: expected an index that loops do not carry")
        self.take_apart(ops)

    def take_apart(self, ops: Sequence[Operation]) -> None:
        """Run ops one by one, or the iterations of the only one, a loop."""
        if len(ops) > 1:
            for op in ops:
                self.run([op])
        elif isinstance(ops[0], scf.ForOp):
            self.loop(ops[0])
        elif isinstance(ops[0], scf.IfOp):
            self.branch(ops[0])

    def nest(self, ops: Sequence[Operation]) -> Nest:
        """The nest of a run of ops."""
        known = self.nests.setdefault((ops[0], len(ops)), [])
        for nest in known:
            if nest.fits(self.number, self.port):
                return nest
        found = Builder(self.number, self.port).run(ops)
        known[:] = [found, *known[:3]]
        return found

    def loop(self, op: scf.ForOp) -> None:
        """Run the iterations of a loop one by one."""
        bounds = [self.number(each) for each in (op.lb, op.ub, op.step)]
        if None in bounds:
            raise NotFollowed("expected a loop whose bounds do not depend on data")
        low, high, step = (each or 0 for each in bounds)
        if step <= 0:
            raise NotFollowed(f"expected a loop with a positive step, got {step}")
        carried = [self.bound(each) for each in op.iter_args]
        block = op.body.block
        for index in range(low, high, step):
            values: tuple[Bound, ...] = (index, *carried)
            self.frame.scopes.append(dict(zip(block.args, values, strict=True)))
            self.block(block)
            carried = self.yielded(block)
            self.frame.scopes.pop()
        self.frame.scopes[-1].update(zip(op.results, carried, strict=True))

    def yielded(self, block: Block) -> list[Bound]:
        """What a block yields; sums of loops that nobody needs as numbers are data."""
        last = block.last_op
        return [self.bound(each) for each in last.operands] if isinstance(last, scf.YieldOp) else []

    def branch(self, op: scf.IfOp) -> None:
        """Run a branch; without a known condition, both branches may happen."""
        condition = self.number(op.cond)
        if condition is None and self.has_events(op):
            raise NotFollowed("expected a branch that does not depend on data")
        for region, taken in ((op.true_region, True), (op.false_region, False)):
            if region.blocks and condition in (None, int(taken)):
                self.frame.scopes.append({})
                self.block(region.block)
                found = self.yielded(region.block) if condition is not None else []
                self.frame.scopes.pop()
                self.frame.scopes[-1].update(zip(op.results, found, strict=False))

    def start(self, op: dma.StartOp) -> None:
        """Start a transfer."""
        source, target = (End.of(*self.view(each)) for each in (op.source, op.target))
        index = End.of(*self.view(op.blocked[1])) if op.blocked else None
        transfer = start(self.world, op, source, target, index)
        self.frame.transfers.append(transfer)
        self.frame.scopes[-1][op.token] = transfer

    def allocate(self, op: Operation) -> None:
        """Make a new buffer, whose bytes nobody has written yet."""
        (value,), frame = op.results, self.frame
        offset = op.place if isinstance(op, PlacedAllocOp) else SRAM_OFFSET.get(op)
        off_chip = isinstance(op, dram.AllocOp)
        memory = frame.off_chip if off_chip else frame.arenas.get(memory_of_type(value.type))
        self.frame.scopes[-1][value] = self.placed(value, memory, offset, place_of(op))

    def placed(
        self, value: SSAValue, memory: Memory | None, offset: int | None, where: str
    ) -> View:
        """A new buffer at an offset, or in a memory of its own."""
        layout, size, name = Layout.of(value.type), buffer_bytes(value.type), name_of(value)
        if offset is None or memory is None:
            memory, offset = Memory(f"the memory of {name}", size), 0
        buffer = self.world.buffer(name, memory, offset, size)
        if offset < 0 or offset + size > memory.size:
            what = f"bytes {offset} to {offset + size - 1} of {memory.name} of {memory.size} bytes"
            self.world.faults.add(Fault(where, name, None, what))
        aligned = layout.itemsize if memory is self.frame.off_chip else self.aligned(layout)
        if offset % aligned:
            what = f"offset {offset}, expected a multiple of {aligned}"
            self.world.faults.add(Fault(where, name, None, what))
        return Place(buffer, 0), layout

    def aligned(self, layout: Layout) -> int:
        """The alignment of a buffer in the arena in bytes."""
        return max(self.alignment, layout.itemsize)

    # -- functions -------------------------------------------------------------------------------

    def call(self, op: func.CallOp) -> None:
        """Run the function that a call names."""
        callee = self.functions.get(op.callee.string_value())
        if callee is None or callee.is_declaration:
            raise NotFollowed(f"expected a function with a body, got {op.callee}")
        if len(self.frames) >= DEEPEST:
            raise NotFollowed(f"expected at most {DEEPEST} functions that call each other")
        values = [self.bound(each) for each in op.operands]
        layer = LAYER.get(op)
        context = f", called for layer {layer!r}" if layer else ""
        frame = self.frame
        inner = Frame(context, place_of(op), frame.arenas, frame.off_chip, [{}])
        inner.scopes[0].update(zip(callee.body.block.args, values, strict=True))
        results = self.call_in(inner, callee)
        frame.scopes[-1].update(zip(op.results, results, strict=True))

    def call_in(self, frame: Frame, function: func.FuncOp) -> list[Bound]:
        """Run the body of a function in a frame; returns what it returns."""
        self.frames.append(frame)
        block = function.body.block
        self.block(block)
        for transfer in frame.transfers:
            if transfer.is_running:
                what = "a transfer that nobody waits for before the function returns"
                name = transfer.target.place.buffer.name
                self.world.faults.add(Fault(transfer.text, name, None, what))
        last = block.last_op
        found = [self.bound(each) for each in last.operands] if last is not None else []
        self.frames.pop()
        return found

    def enter(self, function: func.FuncOp) -> None:
        """Run a public function: the caller fills its inputs before, and reads outputs after."""
        name = function.sym_name.data
        sizes, more = arenas_of(function), DRAM_BYTES.get(function)
        several = ARENAS.is_on(function)
        arenas = {
            each: Memory(f"the arena in {each}" if several else "the arena", size)
            for each, size in sizes.items()
        }
        off_chip = None if more is None else Memory("the off-chip memory", more)
        frame = Frame("", "", arenas, off_chip, [{}])
        self.frames.append(frame)
        copies = self.copies_in(arenas)
        arguments = [each for each in function.body.block.args if is_buffer(each)]
        roles = [argument_attributes(each) for each in arguments]
        ends: list[End] = []
        for argument, role in zip(arguments, roles, strict=True):
            arena = arenas.get(memory_of_type(argument.type))
            view = self.placed(argument, arena, SRAM_OFFSET.of(role), f"func.func @{name}")
            frame.scopes[0][argument] = view
            ends.append(End.of(*view))
            if is_input(role) or not is_output(role):
                self.fill(ends[-1])
        self.frames.pop()
        self.call_in(frame, function)
        for role, end in zip(roles, ends, strict=True):
            if is_output(role):
                self.hand_over(f"the end of @{name}", end)
        for end in copies:
            self.hand_over(f"the end of @{name}, for its next run", end)

    def copies_in(self, arenas: Mapping[str, Memory]) -> Sequence[End]:
        """Let the caller make the copies of constants in the arenas."""
        ends: list[End] = []
        for op, copied in copied_constants(self.module):
            if copied not in self.copies:
                memory = arenas.get(copied.memory)
                place, layout = self.placed(op.memref, memory, copied.offset, place_of(op))
                place.buffer.data = self.constant(op)[0].buffer.data
                self.copies[copied] = place, layout
                ends.append(End.of(place, layout))
                self.fill(ends[-1])
        return ends

    def fill(self, end: End) -> None:
        """Let the caller write an input."""
        assert end.memory is not None
        inside = end.bytes[(end.bytes >= 0) & (end.bytes < end.memory.size)]
        end.memory.owner[inside] = end.place.buffer.number

    def hand_over(self, where: str, end: End) -> None:
        """Check that an output is complete."""
        memory, buffer = end.memory, end.place.buffer
        assert memory is not None
        inside = end.bytes[(end.bytes >= 0) & (end.bytes < memory.size)]
        for byte in inside[memory.owner[inside] != buffer.number][:1]:
            what = self.world.lost(memory, int(byte))
            self.world.faults.add(Fault(where, buffer.name, int(byte) - buffer.base, what))
