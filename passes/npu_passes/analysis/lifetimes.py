"""Lifetimes of the on-chip buffers of one function: an analysis that changes nothing.

A buffer lives from its first to its last use, including uses through aliases (views, casts, calls,
loops). Program points number the ops in the order of the text:

    0  func.func @f(%in: memref<8xf32, #npu.sram> {sram.input}) {       // %in lives in 0 .. 4
    1    %a = memref.alloc() : memref<8xf32, #npu.sram>                 // %a lives in 2 .. 5
    2    scf.for %i = %c0 to %c8 step %c1 {                             // inside a loop = all of it
    3      memref.store %v, %a[%i] : memref<8xf32, #npu.sram>
    4      "use"(%in, %i) : (memref<8xf32, #npu.sram>, index) -> ()
         }
    5    "use"(%a) : (memref<8xf32, #npu.sram>) -> ()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import SRAM_INPUT, SRAM_OUTPUT
from npu_dialect.npu.maps import ELEMENT, element_bytes, is_buffer_type
from npu_passes.analysis.consumed import Life, consumed
from npu_passes.analysis.on_chip import (
    alignment_of,
    name_of,
    on_chip_values,
    pin_of,
    size_of,
    space_of,
)
from npu_passes.analysis.overlaid import claimed
from npu_passes.analysis.views import aliases_of, root_of, uses_of
from npu_plans.arena.fillings import Filling, Occupancy, floor, overlays
from npu_plans.arena.problem import Buffer, Overlay


@dataclass(frozen=True)
class OnChipBuffer:
    """One on-chip buffer: it lives from program point `first` to `last`, both included.

    `size` and `alignment` are in bytes; the alignment is the smallest that its element type and its
    allocation allow. `pin` is the offset that the buffer already has, if any.
    """

    value: SSAValue
    name: str
    size: int
    alignment: int
    first: int
    last: int
    pin: int | None

    def plain(self) -> Buffer:
        """The buffer for the planner, without IR."""
        return Buffer(self.name, self.size, self.alignment, self.first, self.last, self.pin)


@dataclass(frozen=True)
class Lifetimes:
    """The on-chip buffers of one function, in the order of the text.

    `ops` holds the op at each program point. `overlays` are pairs of buffers that live together but
    may share memory: a buffer that is filled slice by slice leaves free what no slice has reached
    yet, and an input that dies row by row may be overwritten by output rows. `floor` is the most
    bytes that are in use at one program point. `fillings` has the filling of each buffer. `rows`
    are the overlays of the second kind.
    """

    function: Operation
    buffers: tuple[OnChipBuffer, ...]
    ops: tuple[Operation, ...]
    overlays: tuple[Overlay, ...] = ()
    floor: int = 0
    fillings: tuple[Filling, ...] = ()
    rows: tuple[Overlay, ...] = ()

    def occupancy(self) -> Occupancy:
        """The buffers, fillings and overlays for the planner, without IR."""
        plain = tuple(each.plain() for each in self.buffers)
        return Occupancy(plain, self.fillings, self.overlays)


def lifetimes_of(function: Operation, *spaces: Attribute) -> Lifetimes:
    """The lifetimes of the on-chip buffers of a function, in one or several memory spaces.

    Raises: PassFailedException, attached to the op, if a size is not static, or if a loop allocates
    a buffer and carries it to its next iteration.
    """
    ops = tuple(function.walk())
    numbering = Numbering(function, ops)
    buffers: list[OnChipBuffer] = []
    fillings: list[Filling] = []
    lives: list[Life] = []
    for value in on_chip_values(function, *spaces):
        op = value.owner if isinstance(value, OpResult) else function
        assert isinstance(op, Operation)
        aliases = aliases_of(value)
        first, last = numbering.lifetime(value, aliases)
        buffers.append(
            OnChipBuffer(
                value,
                name_of(function, value, aliases) or f"buf{len(buffers)}",
                size_of(op, value.type),
                alignment_of(op, value.type),
                first,
                last,
                pin_of(function, op, value),
            )
        )
        fillings.append(numbering.filling(value))
        lives.append(Life(aliases, buffers[-1].size, first, last, fillings[-1]))
    points = {op: point for point, op in enumerate(ops)}
    rows = in_one_space(buffers, (*consumed(ops, lives), *claimed(points, lives)))
    plain = [each.plain() for each in buffers]
    pairs = (*in_one_space(buffers, overlays(plain, fillings)), *rows)
    least = floor(plain, fillings, rows)
    return Lifetimes(function, tuple(buffers), ops, pairs, least, tuple(fillings), rows)


def in_one_space(buffers: Sequence[OnChipBuffer], pairs: Iterable[Overlay]) -> tuple[Overlay, ...]:
    """The pairs of buffers that lie in the same memory space."""
    spaces = [space_of(each.value) for each in buffers]
    return tuple(each for each in pairs if spaces[each.below] == spaces[each.above])


class Numbering:
    """The program points of a function: for each op its own and that of the last op inside it.

    `branches`: some region has several blocks, so that the order of the text says nothing.
    """

    def __init__(self, function: Operation, ops: Sequence[Operation]) -> None:
        self.function = function
        self.start = {op: index for index, op in enumerate(ops)}
        self.end = dict(self.start)
        for op in reversed(ops):
            if op is not function and (parent := op.parent_op()) is not None:
                self.end[parent] = max(self.end[parent], self.end[op])
        self.branches = any(len(region.blocks) > 1 for op in ops for region in op.regions)

    def lifetime(self, value: SSAValue, aliases: Sequence[SSAValue]) -> tuple[int, int]:
        """First and last program point of a buffer's life.

        It is the whole function if the function has branches, if an alias becomes an integer, or if
        a `memref.dma_start` has no wait.
        """
        exit_point = self.end[self.function]
        if self.branches or any(escapes(alias) for alias in aliases):
            return 0, exit_point
        users = [use.operation for alias in aliases for use in alias.uses]
        if not all(any(waits_of(op)) for op in users if isinstance(op, memref.DmaStartOp)):
            return 0, exit_point  # nobody says when the transfer ends
        home: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent
        assert home is not None
        spans: list[Operation] = []
        for user in users:
            while (ancestor := home.find_ancestor_op_in_block(user)) is None:
                parent = home.parent_op()
                assert parent is not None
                assert parent.parent is not None
                home = parent.parent
            spans.append(ancestor)
        lifted = [home.find_ancestor_op_in_block(span) or span for span in spans]
        points = [self.start[op] for op in lifted] + [self.end[op] for op in lifted]
        if isinstance(value, BlockArgument):
            marks = argument_attributes(value)
            points += [0] * SRAM_INPUT.is_in(marks) + [exit_point] * SRAM_OUTPUT.is_in(marks)
        elif not points:
            points = [self.start[value.owner]] if isinstance(value.owner, Operation) else []
        return min(points), max(points)

    def filling(self, value: SSAValue) -> Filling:
        """How a buffer is filled slice by slice.

        A slice is a subview with a static layout, in the block of the allocation, of the buffer or
        of another slice. It is in use from the first use of the subview on. Any other use of the
        buffer uses all of it. Empty if the buffer is an argument or the function has branches.
        """
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if self.branches or home is None or isinstance(value, BlockArgument):
            return ()
        size = size_of(home.parent_op() or self.function, value.type)
        return sorted(self.fills(value, home, (0, size)))

    def fills(
        self, value: SSAValue, home: Block, span: tuple[int, int]
    ) -> Iterator[tuple[int, int, int]]:
        """From when on which bytes are in use of a buffer, which has the bytes `span`."""
        slices = [(value, span)]
        while slices:
            value, span = slices.pop()
            for use in value.uses:
                view, part = use.operation, None
                if isinstance(view, memref.SubviewOp) and view.parent is home:
                    part = slice_of(view)
                if part is None or not isinstance(view, memref.SubviewOp):
                    lifted = home.find_ancestor_op_in_block(view)
                    yield 0 if lifted is None else self.start[lifted], *span
                elif view.result.first_use is None:
                    yield self.start[view], *part
                else:
                    slices.append((view.result, part))


def waits_of(start: memref.DmaStartOp) -> Iterator[Operation]:
    """The ops that wait for a transfer. Its buffers count as in use until then, as does its tag."""
    for use in uses_of(root_of(start.tag)):
        if isinstance(use.operation, memref.DmaWaitOp):
            yield use.operation


def slice_of(view: memref.SubviewOp) -> tuple[int, int] | None:
    """First byte and end (excluded) of a view in its buffer; None if its layout is not static.

    If the view is smaller than the buffer along one axis only, it also includes the padding bytes
    in front of the next index of that axis, as a buffer in patches has them.
    """
    return span_of(view.result.type, view.source.type)


def span_of(type_: Attribute, source: Attribute) -> tuple[int, int] | None:
    """First byte and end (excluded) of a view with a type in a buffer; see `slice_of`."""
    if not is_buffer_type(type_) or not isinstance(type_.layout, StridedLayoutAttr):
        return None
    assert is_buffer_type(source)
    offset, strides = type_.get_offset(), type_.get_strides()
    if offset is None or strides is None or any(stride is None for stride in strides):
        return None
    steps = [(n, step or 0) for n, step in zip(type_.get_shape(), strides, strict=True)]
    last = sum((extent - 1) * step for extent, step in steps)
    if len(steps) == len(source.get_shape()):
        whole = zip(steps, source.get_shape(), strict=True)
        cut = [axis for axis, ((extent, _), all_) in enumerate(whole) if extent != all_]
        if len(cut) == 1:  # add the elements up to the next index of that axis
            inside = sum((extent - 1) * step for extent, step in steps[cut[0] + 1 :])
            last += max(0, steps[cut[0]][1] - 1 - inside)
    if not isinstance(type_.get_element_type(), ELEMENT):
        return None
    size = element_bytes(type_)
    return offset * size, (offset + last + 1) * size


def escapes(value: SSAValue) -> bool:
    """Whether an op turns a buffer into an integer address, whose uses cannot be tracked."""
    return any(
        isinstance(use.operation, memref.ExtractAlignedPointerAsIndexOp) for use in value.uses
    )
