"""Reads loops as plain data (`npu_plans/instructions/code.py`). Pure reading.

    scf.for %q = %c0 to %c16 step %c1 {
      %at = arith.muli %q, %c4
      %next = arith.addi %at, %c1
      %x = memref.load %map[%next] : memref<64xi8>    // Access(map, ((q, 4),), offset 1, size 1)

An address is followed through views to the buffer below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from npu_dialect.attributes import ZEROS
from npu_dialect.dsp import (
    WORD_BYTES,
    CopyWordsOp,
    KeepOrderOp,
    LoadFloatsOp,
    LoadPairOp,
    LoadWordOp,
    StoreFloatsOp,
    StoreWordOp,
    WordsOp,
)
from npu_dialect.npu.maps import element_bytes, storage_elements
from npu_passes.analysis.affine_index import Linear, constant_of, linear
from npu_passes.analysis.block_times import block_times
from npu_passes.analysis.views import base_of, is_buffer, is_view
from npu_passes.support.loop_builder import memref_type
from npu_plans.instructions.code import (
    Access,
    Block,
    Branch,
    Call,
    Carried,
    Compute,
    Copy,
    Fence,
    Function,
    Loop,
    Step,
)

INDEX_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""Ops on indices that become a part of addresses and bounds."""

SCALAR = ("arith.", "dsp.", "math.")
"""The beginnings of the names of ops on numbers."""

OTHERS = frozenset(
    (
        arith.ConstantOp,
        CopyWordsOp,
        KeepOrderOp,
        LoadFloatsOp,
        LoadPairOp,
        LoadWordOp,
        StoreFloatsOp,
        StoreWordOp,
    )
)
"""Those that are more than a computation."""

AT_LEAST = arith.CMPF_COMPARISON_OPERATIONS.index("oge")
"""The predicate `oge` of `arith.cmpf`."""

SELDOM = ".seldom"
"""The end of the kind of an op that only runs where a maximum so far is raised."""

OF_OPERANDS = (arith.CmpiOp, arith.IndexCastOp)
"""Ops whose kind is named after the type of their operands: their result has always the same."""


def plain_code(module: ModuleOp, layers: Mapping[Operation, int]) -> dict[str, Function]:
    """The functions of a module by their names; `layers` are the places of calls that run layers.

    Raises: PassFailedException if the number of trips of a loop is not known.
    """
    functions = (op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration)
    return {op.sym_name.data: plain_function(op, layers) for op in functions}


def plain_function(function: func.FuncOp, layers: Mapping[Operation, int]) -> Function:
    """One function; raises as `plain_code`."""
    reader = Reader(block_times(function), layers)
    parameters = reader.numbers(function.body.block.args)
    body = reader.block(function.body.block)
    return Function(function.sym_name.data, parameters, body, reader.constants)


@dataclass
class Reader:
    """Reads one function."""

    times: Mapping[IrBlock, float]
    layers: Mapping[Operation, int]
    constants: dict[int, str] = field(default_factory=dict[int, str])
    _numbers: dict[SSAValue | CopyWordsOp, int] = field(
        default_factory=dict[SSAValue | CopyWordsOp, int]
    )
    _places: dict[SSAValue, tuple[SSAValue, Linear]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, Linear]]
    )
    _linear: dict[SSAValue, Linear] = field(default_factory=dict[SSAValue, Linear])

    def number(self, value: SSAValue | CopyWordsOp) -> int:
        """The number of a value; that of a copy stands for the words it moves."""
        return self._numbers.setdefault(value, len(self._numbers))

    def numbers(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        """The numbers of values."""
        return tuple(self.number(value) for value in values)

    def linear(self, index: SSAValue) -> Linear:
        """An index as a sum."""
        if index not in self._linear:
            self._linear[index] = linear(index)
        return self._linear[index]

    def block(self, block: IrBlock) -> Block:
        """A block."""
        steps = tuple(step for op in block.ops for step in self.steps(op))
        return Block(steps, self.times.get(block, 0.0))

    def steps(self, op: Operation) -> Iterator[Step]:
        """The steps of an op."""
        if type(op) not in OTHERS and op.name.startswith(SCALAR):
            if not is_index_sum(op):
                yield self.compute(op)
        else:
            yield from self.more_steps(op)

    def more_steps(self, op: Operation) -> Iterator[Step]:
        """The steps of an op that is more than a computation."""
        match op:
            case arith.ConstantOp():
                self.constants[self.number(op.result)] = f"{op.result.type} {op.value}"
            case scf.ForOp():
                yield self.loop(op)
            case scf.IfOp():
                yield self.branch(op)
            case func.CallOp():
                roots = (self.place(v)[0] if is_buffer(v) else v for v in op.arguments)
                callee = op.callee.string_value()
                places = tuple(map(self.number, roots))
                yield Call(callee, places, self.layers.get(op), ZEROS.get(op))
            case memref.LoadOp() | memref.StoreOp():
                yield self.element(op)
            case _ if isinstance(op, WordsOp):
                yield from self.words(op)
            case KeepOrderOp():
                yield Fence()
            case memref.CopyOp():
                type_ = memref_type(op.source)
                yield Copy((storage_elements(type_) or 0) * element_bytes(type_))
            case _ if op.results and not is_plain(op):
                yield self.compute(op)
            case _:
                pass

    def compute(self, op: Operation) -> Compute:
        """An op on numbers."""
        type_ = (op.operands if isinstance(op, OF_OPERANDS) else op.results)[0].type
        operands = tuple(number for value in op.operands for number in self.used(value))
        kind = f"{op.name}.{type_}{SELDOM * is_seldom(op)}"
        return Compute(kind, operands, self.number(op.results[0]))

    def used(self, value: SSAValue) -> tuple[int, ...]:
        """The numbers of what an op reads: of an index, the terms of the sum."""
        if isinstance(value.type, IndexType) and constant_of(value) is None:
            return self.numbers(tuple(self.linear(value).factors))
        return (self.number(value),)

    def loop(self, op: scf.ForOp) -> Loop:
        """A loop."""
        index, *arguments = op.body.block.args
        last = op.body.block.last_op
        following = () if last is None else last.operands
        ends = [constant_of(value) for value in (op.lb, op.ub, op.step)]
        known = [end for end in ends if end is not None]
        varying = (value for value in (op.lb, op.ub) if constant_of(value) is None)
        carried = zip(op.iter_args, arguments, following, op.results, strict=True)
        return Loop(
            self.number(index),
            range(*known) if len(known) == len(ends) else None,
            tuple(number for value in varying for number in self.used(value)),
            tuple(Carried(*self.numbers(each)) for each in carried),
            self.block(op.body.block),
        )

    def branch(self, op: scf.IfOp) -> Branch:
        """A branch."""
        blocks = [block for region in op.regions for block in region.blocks]
        ends = [() if block.last_op is None else block.last_op.operands for block in blocks]
        return Branch(
            self.number(op.cond),
            tuple(map(self.block, blocks)),
            tuple(map(self.numbers, ends)),
            self.numbers(op.results),
        )

    def element(self, op: memref.LoadOp | memref.StoreOp) -> Access:
        """An access to one element."""
        type_ = memref_type(op.memref)
        width, at = element_bytes(type_), Linear()
        axes = zip(op.indices, type_.get_strides() or (), type_.get_shape(), strict=False)
        for index, stride, extent in axes:
            if extent != 1:
                at = at.plus(self.linear(index), (stride or 0) * width)
        writes = isinstance(op, memref.StoreOp)
        value = self.number(op.value if writes else op.res)
        return self.access(op.memref, at, width, value, writes=writes)

    def words(self, op: WordsOp) -> Iterator[Step]:
        """An access to some words, which lie at elements from an index on.

        A load of several words gives the first, from which the others follow.
        """
        if isinstance(op, CopyWordsOp):
            yield from self.copied_words(op)
            return
        at = Linear().plus(self.linear(op.index), element_bytes(memref_type(op.memref)))
        if isinstance(op, StoreWordOp):
            yield self.access(op.memref, at, WORD_BYTES, self.number(op.value), writes=True)
            return
        if isinstance(op, StoreFloatsOp):
            size, first = op.words * WORD_BYTES, self.number(op.values[0])
            yield self.access(op.memref, at, size, first, writes=True)
            return
        first = self.number(op.results[0])
        yield self.access(op.memref, at, op.words * WORD_BYTES, first, writes=False)
        for other in op.results[1:]:
            yield Compute(f"{op.name}.{other.type}", (first,), self.number(other))

    def copied_words(self, op: CopyWordsOp) -> Iterator[Step]:
        """A copy of some words: a load and a store, of one instruction each."""
        ends = ((op.source, op.first, False), (op.target, op.start, True))
        for buffer, index, writes in ends:
            at = Linear().plus(self.linear(index), element_bytes(memref_type(buffer)))
            yield self.access(buffer, at, WORD_BYTES, self.number(op), writes=writes)

    def access(
        self, buffer: SSAValue, at: Linear, size: int, value: int, *, writes: bool
    ) -> Access:
        """An access to `size` bytes at `at` bytes behind the start of a buffer or view.

        `value`: the number of what is loaded or stored.
        """
        root, start = self.place(buffer)
        whole = start.plus(at)
        terms = sorted((self.number(each), factor) for each, factor in whole.factors.items())
        return Access(
            self.number(root),
            tuple(terms),
            whole.constant,
            size,
            str(memref_type(buffer).element_type),
            value,
            writes,
        )

    def place(self, buffer: SSAValue) -> tuple[SSAValue, Linear]:
        """The buffer below all views, and the bytes from its start to that of a view."""
        if buffer not in self._places:
            self._places[buffer] = self.found(buffer)
        return self._places[buffer]

    def found(self, buffer: SSAValue) -> tuple[SSAValue, Linear]:
        """The place of a buffer, computed anew."""
        op = buffer.owner
        if not isinstance(op, Operation) or not is_view(op):
            return buffer, Linear()
        root, start = self.place(op.operands[0])
        if isinstance(op, memref.SubviewOp):
            source, dynamic = memref_type(op.source), iter(op.offsets)
            strides = source.get_strides() or ()
            for offset, stride in zip(op.static_offsets.get_values(), strides, strict=False):
                first = self.linear(next(dynamic)) if offset == DYNAMIC_INDEX else Linear(offset)
                start = start.plus(first, (stride or 0) * element_bytes(source))
        elif isinstance(op, memref.ReinterpretCastOp):
            (offset,) = op.static_offsets.get_values()
            if offset != DYNAMIC_INDEX:
                start = self.place(base_of(op.source))[1]
                start = start.plus(Linear(offset), element_bytes(memref_type(buffer)))
        return root, start


def is_plain(op: Operation) -> bool:
    """Whether an op computes no number."""
    if is_view(op) or any(map(is_buffer, op.results)) or len(op.results) != 1:
        return True
    return op.has_trait(IsTerminator, value_if_unregistered=False)


def is_index_sum(op: Operation) -> bool:
    """Whether an op computes an index that becomes a part of an address."""
    return isinstance(op, INDEX_SUMS) and isinstance(op.results[0].type, IndexType)


def is_seldom(op: Operation) -> bool:
    """Whether an op only runs where a value raises the maximum so far, which most do not.

    `LoopBuilder.raised` makes these: the second comparison, and what takes the value.
    """
    match op:
        case arith.CmpfOp(lhs=lhs, rhs=rhs) if lhs is rhs:
            users = [use.operation for use in op.result.uses]
            return bool(users) and all(is_kept(user) for user in users)
        case arith.SelectOp(cond=OpResult(op=arith.OrIOp() as either)):
            return is_kept(either)
        case _:
            return False


def is_kept(op: Operation) -> bool:
    """Whether an op says that a maximum so far is not less than a value, or no number."""
    if not isinstance(op, arith.OrIOp) or not isinstance(op.lhs.owner, arith.CmpfOp):
        return False
    return op.lhs.owner.predicate.value.data == AT_LEAST
