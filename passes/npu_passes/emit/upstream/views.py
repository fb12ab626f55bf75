"""Views of buffers with the types that upstream infers from their operands.

    %row  = memref.subview %map[0, 0, 2, 0] [1, 4, 1, 8] [1, 1, 1, 1]
            : memref<1x4x8x8xi8> to memref<4x8xi8, strided<[64, 1], offset: ?>>
    %span = sram.span %row : memref<4x8xi8, strided<[64, 1], offset: ?>> to memref<200xi8>
becomes
    %row  = memref.subview %map[0, 0, 2, 0] [1, 4, 1, 8] [1, 1, 1, 1]
            : memref<1x4x8x8xi8> to memref<4x8xi8, strided<[64, 1], offset: 16>>
    %span = memref.reinterpret_cast %row to offset: [16], sizes: [200], strides: [1]
            : ... to memref<200xi8, strided<[1], offset: 16>>

Our types may say less than is known (`offset: ?`); upstream wants exactly what it infers. In our IR
a `sram.span` begins at an offset of 0, wherever its source lies. Upstream has no such view: offsets
count from the start of the whole buffer. So a view takes its offset from its source, which
`memref.extract_strided_metadata` reads if the type does not say it. Views of views follow, since
each is rewritten after its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.npu.maps import is_buffer_type
from npu_dialect.sram import SpanOp
from npu_dialect.walking import walk
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.support.refuse import refuse

Buffer = MemRefType[Attribute]


@dataclass
class Views:
    """Gives the views of one function the types that upstream infers.

    `b` builds in the function; `functions` are those of the module, by name.
    """

    b: LoopBuilder
    functions: Mapping[str, FuncOp]
    shifts: dict[Operation, Index] = field(default_factory=dict[Operation, Index])
    """For spans and views of them: how far the start of the whole buffer lies before the span."""

    def type_all(self, function: FuncOp) -> None:
        """Rewrite all views of the function.

        Raises: Refusal if a buffer goes where its type cannot.
        """
        for op in list(walk(function)):
            self.b.builder.insertion_point = InsertPoint.before(op)
            match op:
                case memref.SubviewOp():
                    self.inherit(op)
                    retype(op.result, subview_type(op))
                case SpanOp():
                    self.place_span(op)
                case memref.ReinterpretCastOp():
                    self.recast(op)
                case memref.CollapseShapeOp() | memref.ExpandShapeOp():
                    self.inherit(op)
                    follow_source(op)
                case memref.CastOp() | memref.MemorySpaceCastOp():
                    self.inherit(op)
                    self.check_cast(op)
                case CallOp() | ReturnOp() | scf.ForOp() | scf.YieldOp():
                    self.fit_operands(op)
                case _:
                    pass

    def inherit(self, op: Operation) -> None:
        """Note that a view of a span, or of a view of one, starts where that does."""
        source = op.operands[0].owner
        if isinstance(source, Operation) and source in self.shifts:
            self.shifts[op] = self.shifts[source]

    def place_span(self, op: SpanOp) -> None:
        """Put a span where its source begins."""
        shape = memref_type(op.result).get_shape()
        known = memref_type(op.source).get_offset()
        at: Index = known if known is not None else self.offset_of(op.source)
        self.shifts[replace(op, self.reinterpreted(op.source, at, shape, (1,)))] = at

    def offset_of(self, buffer: SSAValue) -> SSAValue:
        """The offset of a buffer, read when the program runs."""
        offset = self.b.insert(memref.ExtractStridedMetaDataOp(buffer)).offset
        offset.name_hint = "offset"
        return offset

    def recast(self, op: memref.ReinterpretCastOp) -> None:
        """Give a reinterpreted buffer its place: if it is one of a span, that of the span counts.

        The result gets the offset of the op; ours may be `offset: ?` for a known one.

        Raises: Refusal for a part of a span that is known only at run time.
        """
        self.inherit(op)
        if op.offsets or op.sizes or op.strides:
            if op in self.shifts:
                refuse(op, f"{op.name}: expected static numbers for a part of a sram.span")
            return
        shape, strides = op.static_sizes.get_values(), op.static_strides.get_values()
        (at,) = op.static_offsets.get_values()
        shift = self.shifts.get(op, 0)
        new = self.reinterpreted(op.source, self.b.add(shift, at), shape, strides)
        made = replace(op, new)
        if op in self.shifts:
            self.shifts[made] = shift

    def reinterpreted(
        self, source: SSAValue, at: Index, shape: Sequence[int], strides: Sequence[int]
    ) -> SSAValue:
        """A buffer that begins `at` elements behind the start of the whole buffer."""
        known = at if isinstance(at, int) else None
        type_ = strided(memref_type(source), shape, strides, known)
        cast = memref.ReinterpretCastOp.from_dynamic(source, [at], shape, strides, type_)
        return self.b.insert(cast).result

    def fit_operands(self, op: Operation) -> None:
        """Cast buffers to the types of the arguments or results that they become.

        Raises: Refusal if such a type says an offset that the buffer's type does not say.
        """
        for index, wanted in self.places_of(op):
            value = op.operands[index]
            found = value.type
            if found == wanted or not is_buffer_type(found) or not is_buffer_type(wanted):
                continue
            check_fit(op, index, found, wanted)
            op.operands[index] = self.b.insert(memref.CastOp.get(value, wanted)).dest

    def check_cast(self, op: Operation) -> None:
        """Check that the source of a cast still has a type that can become the result's.

        Raises: Refusal if it has not: its offset is another than before.
        """
        found, wanted = memref_type(op.operands[0]), memref_type(op.results[0])
        if op in self.shifts:
            check_fit(op, 0, found, wanted)

    def places_of(self, op: Operation) -> list[tuple[int, Attribute]]:
        """The operands that become values elsewhere: their numbers, and the types of those."""
        match op:
            case CallOp():
                callee = self.functions.get(op.callee.string_value())
                return [] if callee is None else list(enumerate(callee.function_type.inputs))
            case scf.ForOp():
                return list(enumerate((arg.type for arg in op.body.block.args[1:]), 3))
            case _:
                parent = op.parent_op()
                if isinstance(parent, FuncOp):
                    return list(enumerate(parent.function_type.outputs))
                return list(enumerate(result.type for result in parent.results)) if parent else []


def retype(value: SSAValue, type_: Buffer) -> None:
    """Give a value another type."""
    if value.type != type_:
        Rewriter.replace_value_with_new_type(value, type_)


def replace(op: Operation, value: SSAValue) -> Operation:
    """Put the result of a new op in the place of an op with one result; returns the new op."""
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()
    assert isinstance(value.owner, Operation)
    return value.owner


def strided(
    element: Buffer, shape: Sequence[int], strides: Sequence[int | None], offset: int | None
) -> Buffer:
    """A type with the elements and the space of another, and this layout."""
    plain = MemRefType(element.element_type, shape, memory_space=element.memory_space)
    if offset == 0 and tuple(strides) == plain.get_strides():
        return plain
    layout = StridedLayoutAttr(strides, offset)
    return MemRefType(element.element_type, shape, layout, element.memory_space)


def subview_type(op: memref.SubviewOp) -> Buffer:
    """The type that upstream infers for a subview, without the axes that its type leaves out."""
    source, result = memref_type(op.source), memref_type(op.result)
    steps = source.get_strides()
    if steps is None:
        return result
    offset = source.get_offset()
    for at, step in zip(op.static_offsets.get_values(), steps, strict=True):
        known = offset is not None and at != DYNAMIC_INDEX and (step is not None or at == 0)
        offset = offset + at * (step or 0) if known and offset is not None else None
    strides = [
        None if step is None or times == DYNAMIC_INDEX else step * times
        for step, times in zip(steps, op.static_strides.get_values(), strict=True)
    ]
    kept = kept_axes(op.static_sizes.get_values(), strides, result)
    layout = StridedLayoutAttr([strides[axis] for axis in kept], offset)
    return MemRefType(result.element_type, result.get_shape(), layout, source.memory_space)


def kept_axes(sizes: Sequence[int], strides: Sequence[int | None], result: Buffer) -> list[int]:
    """The axes of a subview that its type keeps: those whose extents and strides it has."""
    kept: list[int] = []
    wanted = list(zip(result.get_shape(), result.get_strides() or (), strict=True))
    spare = len(sizes) - len(wanted)
    for axis, (size, step) in enumerate(zip(sizes, strides, strict=True)):
        extent, pitch = wanted[len(kept)] if len(kept) < len(wanted) else (0, 0)
        fits = len(kept) < len(wanted) and size == extent and pitch in (step, None)
        if fits or not spare:
            kept.append(axis)
        else:
            spare -= 1
    return kept


def follow_source(op: Operation) -> None:
    """Give a view that keeps the place of its source the offset of the source's type."""
    source, result = memref_type(op.operands[0]), memref_type(op.results[0])
    strides = result.get_strides()
    if strides is not None and source.get_offset() != result.get_offset():
        retype(op.results[0], strided(result, result.get_shape(), strides, source.get_offset()))


def check_fit(op: Operation, index: int, found: Buffer, wanted: Buffer) -> None:
    """Check that a buffer, which is an operand of an op, can become one of another type.

    Raises: Refusal, attached to the op, if it cannot.
    """
    if not casts(found, wanted):
        refuse(
            op,
            f"{op.name}: operand {index} is {found}, which cannot become {wanted}; "
            "expected `offset: ?` in the latter",
        )


def casts(found: Buffer, wanted: Buffer) -> bool:
    """Whether `memref.cast` turns one type into another: numbers may be forgotten, not made up."""
    if (found.element_type, found.memory_space) != (wanted.element_type, wanted.memory_space):
        return False
    if found.get_num_dims() != wanted.get_num_dims():
        return False
    shapes = zip(found.get_shape(), wanted.get_shape(), strict=True)
    ours = (found.get_offset(), *(found.get_strides() or ()))
    theirs = (wanted.get_offset(), *(wanted.get_strides() or ()))
    return all(there in (DYNAMIC_INDEX, here) for here, there in shapes) and all(
        there in (None, here) for here, there in zip(ours, theirs, strict=True)
    )
