"""A small builder of loop nests: scf, memref and arith, with index arithmetic that folds.

An index is a Python integer while its value is known, and an SSA value otherwise. Lowerings write
`b.add(b.mul(row, 2), 1)`; arithmetic on known indices emits no ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr, IntegerOverflowFlag
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    f32,
    i32,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import map_type
from npu_dialect.sram import SpanOp
from npu_passes.support.lowest import is_lowest
from npu_passes.support.op_builder import OpBuilder
from npu_passes.support.symbols import TakenNames

Index: TypeAlias = int | SSAValue
"""An index: a known integer or an SSA value."""

NSW = IntegerOverflowAttr((IntegerOverflowFlag.NSW,))
"""For results that are known not to overflow (no signed wrap)."""

CONTRACT = FastMathFlagsAttr((FastMathFlag.ALLOW_CONTRACT,))
"""For a product and a sum that may become one fused multiply-add."""

BodyResult: TypeAlias = Sequence[SSAValue]
Body: TypeAlias = Callable[[Index, Sequence[SSAValue]], BodyResult]
"""Body of a loop: gets the induction variable and the carried values, returns the next ones."""


class LoopBuilder(OpBuilder):
    """Builds ops in front of one op; constants go in front of everything that it builds."""

    taken: TakenNames | None = None
    """The names of symbols, if the pass has read them."""

    def __init__(self, before: Operation, *, rounds: bool = False, has_floats: bool = True) -> None:
        """Build in front of `before`.

        `rounds`: the core rounds a float32 in one instruction. `has_floats`: it has an FPU.
        """
        self.rounds, self.has_floats = rounds, has_floats
        block = before.parent_block()
        assert block is not None
        self.block = block
        self.last_constant = before.prev_op
        super().__init__(Builder(InsertPoint.before(before)))
        self.constants: dict[int | tuple[float, bool] | tuple[int, Attribute], SSAValue] = {}

    # -- constants and arithmetic --------------------------------------------------------------

    def hoist(self, op: Operation, hint: str) -> SSAValue:
        """Insert a constant in front of everything that this builder builds."""
        last = self.last_constant
        Builder(InsertPoint.after(last) if last else InsertPoint.at_start(self.block)).insert(op)
        self.last_constant = op
        op.results[0].name_hint = hint
        return op.results[0]

    def value(self, index: Index) -> SSAValue:
        """An index as an SSA value."""
        if not isinstance(index, int):
            return index
        if index not in self.constants:
            number = IntegerAttr(index, IndexType())
            op = arith.ConstantOp.create(result_types=[number.type], properties={"value": number})
            hint = f"c{index}" if index >= 0 else f"cm{-index}"
            self.constants[index] = self.hoist(op, hint)
        return self.constants[index]

    def real(self, number: float) -> SSAValue:
        """A float32 constant."""
        key = (number, str(number).startswith("-"))
        if key not in self.constants:
            self.constants[key] = self.hoist(arith.ConstantOp(FloatAttr(number, f32)), "cst")
        return self.constants[key]

    def integer(self, number: int, type_: IntegerType = i32) -> SSAValue:
        """An integer constant."""
        key = (number, type_)
        if key not in self.constants:
            self.constants[key] = self.hoist(arith.ConstantOp(IntegerAttr(number, type_)), "cst")
        return self.constants[key]

    def number(self, number: float, type_: Attribute) -> SSAValue:
        """A constant of a float or integer type; an integer is clamped to the range of its type."""
        if not isa(type_, IntegerType):
            return self.real(number)
        half = 1 << (type_.width.data - 1)
        return self.integer(int(min(max(number, -half), half - 1)), type_)

    def add(self, lhs: Index, rhs: Index, hint: str | None = None) -> Index:
        """lhs + rhs."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if rhs == 0:
            return lhs
        if lhs == 0:
            return rhs
        if isinstance(rhs, int) and rhs < 0:
            return self.sub(lhs, -rhs, hint)
        return self.binary(arith.AddiOp, self.value(lhs), self.value(rhs), hint)

    def sub(self, lhs: Index, rhs: Index, hint: str | None = None) -> Index:
        """lhs - rhs."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs - rhs
        if rhs == 0:
            return lhs
        return self.binary(arith.SubiOp, self.value(lhs), self.value(rhs), hint)

    def mul(self, lhs: Index, rhs: Index, hint: str | None = None) -> Index:
        """lhs * rhs."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(one, int) and one in (0, 1):
                return 0 if one == 0 else other
        return self.binary(arith.MuliOp, self.value(lhs), self.value(rhs), hint)

    def floor_div(self, lhs: Index, rhs: int, hint: str | None = None) -> Index:
        """Floor of lhs / rhs, for lhs of either sign."""
        if isinstance(lhs, int):
            return lhs // rhs
        if rhs == 1:
            return lhs
        return self.binary(arith.FloorDivSIOp, lhs, self.value(rhs), hint)

    def ceil_div(self, lhs: Index, rhs: int, hint: str | None = None) -> Index:
        """Ceiling of lhs / rhs, for lhs of either sign."""
        return self.floor_div(self.add(lhs, rhs - 1), rhs, hint)

    def quotient(self, lhs: Index, rhs: int, hint: str | None = None) -> Index:
        """Floor of lhs / rhs; lhs must not be negative. Fewer instructions than `floor_div`."""
        if isinstance(lhs, int) or rhs == 1:
            return self.floor_div(lhs, rhs)
        return self.binary(arith.DivUIOp, lhs, self.value(rhs), hint)

    def least(self, lhs: Index, rhs: Index, hint: str | None = None) -> Index:
        """min(lhs, rhs)."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return min(lhs, rhs)
        return self.binary(arith.MinSIOp, self.value(lhs), self.value(rhs), hint)

    def most(self, lhs: Index, rhs: Index, hint: str | None = None) -> Index:
        """max(lhs, rhs)."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return max(lhs, rhs)
        return self.binary(arith.MaxSIOp, self.value(lhs), self.value(rhs), hint)

    def between(self, index: SSAValue, low: int, high: int) -> SSAValue:
        """Whether low <= index < high, as one unsigned comparison."""
        shifted = self.value(self.sub(index, low))
        return self.compare(arith.CmpiOp, shifted, self.value(high - low), "ult")

    def divides(self, index: Index, divisor: int) -> SSAValue:
        """Whether divisor divides index; the index must not be negative."""
        rest = self.binary(arith.RemUIOp, self.value(index), self.value(divisor))
        return self.compare(arith.CmpiOp, rest, self.value(0), "eq")

    # -- floats --------------------------------------------------------------------------------

    def addf(self, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
        """lhs + rhs."""
        return self.binary(arith.AddfOp, lhs, rhs, hint)

    def subf(self, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
        """lhs - rhs."""
        return self.binary(arith.SubfOp, lhs, rhs, hint)

    def mulf(self, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
        """lhs * rhs."""
        return self.binary(arith.MulfOp, lhs, rhs, hint)

    def divf(self, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
        """lhs / rhs."""
        return self.binary(arith.DivfOp, lhs, rhs, hint)

    def mac(self, total: SSAValue, lhs: SSAValue, rhs: SSAValue, hint: str = "acc") -> SSAValue:
        """Total + lhs * rhs, of floats or of i32 factors; the total of these is i32 or i64.

        Of integer factors, one must be a byte or a difference of bytes, the other a difference of
        at most 16 bits, so that the product fits. A float product and sum may become one fused
        operation (`contract`): layers do not prescribe the order of their sums, so their rounding
        is not fixed either.
        """
        operands = (lhs, rhs)
        if isa(total.type, IntegerType):
            first = partial(arith.MuliOp, lhs, rhs, overflow=NSW)
            product = self.quickly(arith.MuliOp, operands, lhs.type, first, "nsw")
            if total.type != i32:
                product = self.insert(arith.ExtSIOp(product, total.type)).result
            return self.binary(arith.AddiOp, total, product, hint)
        multiply = partial(arith.MulfOp, lhs, rhs, CONTRACT)
        product = self.quickly(arith.MulfOp, operands, lhs.type, multiply, "contract")
        add = partial(arith.AddfOp, total, product, CONTRACT)
        operands = (total, product)
        return self.quickly(arith.AddfOp, operands, total.type, add, "contract", hint)

    def maxf(self, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
        """The greater of two floats or integers; NaN if one of them is.

        What no number is below takes no op. It would also make gcc convert sums to floats under the
        condition `ne`, which the assembler of binutils 2.40 mistakes for an instruction of Helium.
        """
        if is_lowest(rhs):
            return lhs
        if isa(lhs.type, IntegerType):
            above = self.compare(arith.CmpiOp, lhs, rhs, "sgt")
            return self.select(above, lhs, rhs, hint)
        greater = self.compare(arith.CmpfOp, lhs, rhs, "ogt")
        is_nan = self.compare(arith.CmpfOp, lhs, lhs, "une")
        wins = self.binary(arith.OrIOp, greater, is_nan)
        return self.select(wins, lhs, rhs, hint)

    def raised(self, most: SSAValue, value: SSAValue, hint: str | None = None) -> SSAValue:
        """The same as `maxf`, for a maximum so far that most values do not raise."""
        if isa(most.type, IntegerType) or is_lowest(most):
            return self.maxf(value, most, hint)
        stays = self.compare(arith.CmpfOp, most, value, "oge")
        is_nan = self.compare(arith.CmpfOp, most, most, "une")
        return self.select(self.binary(arith.OrIOp, stays, is_nan), most, value, hint)

    def at_least(self, value: SSAValue, bound: SSAValue, hint: str | None = None) -> SSAValue:
        """max(value, bound), of floats or integers; NaN stays NaN."""
        below = self.compared(value, bound, "olt", "slt")
        return self.select(below, bound, value, hint)

    def at_most(self, value: SSAValue, bound: SSAValue, hint: str | None = None) -> SSAValue:
        """min(value, bound), of floats or integers; NaN stays NaN."""
        above = self.compared(value, bound, "ogt", "sgt")
        return self.select(above, bound, value, hint)

    def exp(self, value: SSAValue) -> SSAValue:
        """e^value."""
        return self.insert(math.ExpOp(value)).result

    def log(self, value: SSAValue) -> SSAValue:
        """Natural logarithm of value."""
        return self.insert(math.LogOp(value)).result

    def sqrt(self, value: SSAValue) -> SSAValue:
        """Square root of value."""
        return self.insert(math.SqrtOp(value)).result

    def pow(self, base: SSAValue, exponent: SSAValue) -> SSAValue:
        """base ^ exponent."""
        return self.insert(math.PowFOp(base, exponent)).result

    def to_real(self, index: Index) -> SSAValue:
        """An index as float32."""
        if isinstance(index, int):
            return self.real(float(index))
        narrow = self.insert(arith.IndexCastOp(index, i32)).result
        return self.insert(arith.SIToFPOp(narrow, f32)).result

    # -- memory --------------------------------------------------------------------------------

    def load(self, buffer: SSAValue, at: Sequence[Index], hint: str | None = None) -> SSAValue:
        """Read one element."""
        indices = [self.value(index) for index in at]
        element = memref_type(buffer).element_type
        first = partial(memref.LoadOp.get, buffer, indices)
        return self.quickly(memref.LoadOp, (buffer, *indices), element, first, hint=hint)

    def store(self, value: SSAValue, buffer: SSAValue, at: Sequence[Index]) -> None:
        """Write one element."""
        self.insert(memref.StoreOp.get(value, buffer, [self.value(i) for i in at]))

    def window(
        self,
        buffer: SSAValue,
        at: Sequence[Index],
        sizes: Sequence[int],
        keep: Sequence[int],
        hint: str | None = None,
        step: int = 1,
    ) -> SSAValue:
        """A view of a box in a buffer.

        `at` is its first element, `sizes` are its extents along all axes, `keep` the axes of the
        view; the others must have size 1. Of the last axis, the view has one element in `step`.
        """
        type_ = memref_type(buffer)
        pitches = type_.get_strides()
        assert pitches is not None
        steps = [1] * (len(sizes) - 1) + [step]
        counts = [-(-size // each) for size, each in zip(sizes, steps, strict=True)]
        found = [(pitches[axis] or 0) * steps[axis] for axis in keep]
        layout = StridedLayoutAttr(found, None)
        shape = [counts[axis] for axis in keep]
        result = MemRefType(type_.element_type, shape, layout, type_.memory_space)
        op = memref.SubviewOp.get(buffer, list(at), counts, steps, result)
        return self.insert(op, hint).result

    def flat(self, buffer: SSAValue, hint: str | None = None) -> SSAValue:
        """A gapless buffer as a view of one axis, in the order of memory; any other unchanged."""
        type_ = memref_type(buffer)
        if type_.get_num_dims() == 1 or not is_gapless(type_):
            return buffer
        if type_.get_offset() != 0:
            return self.span(buffer, hint)
        return self.shaped(buffer, [prod(type_.get_shape())], hint)

    def span(self, buffer: SSAValue, hint: str | None = None) -> SSAValue:
        """The memory of a buffer, from its first element to its last one, as a view of one axis."""
        type_ = memref_type(buffer)
        if type_.get_num_dims() == 1 and is_dense(type_):
            return buffer
        return self.insert(SpanOp(buffer), hint).result

    def shaped(self, buffer: SSAValue, shape: Sequence[int], hint: str | None = None) -> SSAValue:
        """A dense buffer as a view of another shape with as many elements."""
        type_ = memref_type(buffer)
        if tuple(shape) == type_.get_shape():
            return buffer
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        result = MemRefType(type_.element_type, shape, memory_space=type_.memory_space)
        op = memref.ReinterpretCastOp(buffer, [], [], [], [0], shape, steps, result)
        return self.insert(op, hint).result

    def pixels(self, buffer: SSAValue, hint: str | None = None) -> SSAValue:
        """A map [1, C, H, W] as [H * W, C]; its rows must be contiguous."""
        type_ = memref_type(buffer)
        _, channels, height, width = type_.get_shape()
        strides = type_.get_strides()
        assert strides is not None
        if type_.get_offset() != 0:
            buffer = self.span(buffer, hint)
        steps, shape = [strides[3] or 0, strides[1] or 0], [height * width, channels]
        layout = StridedLayoutAttr(steps, None)
        result = MemRefType(type_.element_type, shape, layout, type_.memory_space)
        op = memref.ReinterpretCastOp(buffer, [], [], [], [0], shape, steps, result)
        return self.insert(op, hint).result

    # -- control -------------------------------------------------------------------------------

    def loop(
        self,
        start: Index,
        stop: Index,
        body: Body,
        carried: Sequence[SSAValue] = (),
        *,
        step: int = 1,
        hint: str = "i",
        carry: str | None = None,
    ) -> tuple[SSAValue, ...]:
        """A counted loop; if it is known to run at most once, only its body is built.

        `hint` names the induction variable, `carry` the carried values (default: their own names).
        """
        if isinstance(start, int) and isinstance(stop, int):
            if stop <= start:
                return tuple(carried)
            if stop - start <= step:
                return tuple(body(start, carried))
        types = [value.type for value in carried]
        block = Block(arg_types=[IndexType(), *types])
        block.args[0].name_hint = hint
        for argument, value in zip(block.args[1:], carried, strict=True):
            argument.name_hint = carry or value.name_hint
        op = scf.ForOp(
            self.value(start), self.value(stop), self.value(step), carried, Region(block)
        )
        self.insert(op)
        self.fill(block, lambda: body(block.args[0], block.args[1:]))
        for result, value in zip(op.res, carried, strict=True):
            result.name_hint = carry or value.name_hint
        return tuple(op.res)

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], BodyResult],
        otherwise: Callable[[], BodyResult] | None = None,
        types: Sequence[Attribute] = (),
    ) -> tuple[SSAValue, ...]:
        """An `scf.if`; its results, of `types`, are those of the branch that is taken.

        Without `otherwise` it has no results.
        """
        first, second = Block(), Block()
        op = scf.IfOp(condition, types, Region(first), Region(second) if otherwise else Region())
        self.insert(op)
        self.fill(first, then)
        if otherwise is not None:
            self.fill(second, otherwise)
        return tuple(op.output)

    def fill(self, block: Block, body: Callable[[], BodyResult]) -> None:
        """Build the ops of a block and its yield, then continue where the builder was before."""
        outside = self.builder.insertion_point
        self.builder.insertion_point = InsertPoint.at_end(block)
        results = body()
        self.insert(scf.YieldOp(*results))
        self.builder.insertion_point = outside


def memref_type(buffer: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that is known to be a buffer."""
    type_ = map_type(buffer)
    assert isinstance(type_, MemRefType)
    return type_


def is_dense(type_: MemRefType[Attribute]) -> bool:
    """Whether a buffer is contiguous in row-major order with offset 0."""
    expected: list[int] = []
    pitch = 1
    for extent in reversed(type_.get_shape()):
        expected.append(pitch)
        pitch *= extent
    return type_.get_strides() == tuple(reversed(expected)) and type_.get_offset() == 0


def is_gapless(type_: MemRefType[Attribute]) -> bool:
    """Whether a buffer is contiguous, with its axes in any order, wherever it begins."""
    strides = type_.get_strides()
    if strides is None:
        return False
    pitch, axes = 1, zip(strides, type_.get_shape(), strict=True)
    for step, extent in sorted(axes, key=lambda axis: axis[0] or 0):
        if extent > 1 and step != pitch:
            return False
        pitch *= extent
    return True
