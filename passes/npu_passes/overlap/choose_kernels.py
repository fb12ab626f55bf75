"""`npu-choose-kernels`: give depthwise convolutions the memory for a faster kernel (on buffers).

    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...) ... groups 8
becomes
    %s = sram.alloc : memref<702xi16, #npu.sram>
    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...) scratch(%s : memref<702xi16, #npu.sram>) ...
or, at the memory peak,
    npu.conv2d ins(%x, %w, %b : ...) outs(%x : ...) scratch(%s : ...) ...

Level of IR: layers on buffers without offsets, with channels last, for a core with dual
multiply-accumulates or with vectors. A layer with a working memory gathers the rows of one channel
there, as 16-bit elements with their padding, and computes that channel before it reads the next.
That takes fewer instructions than four channels at a time, as two taps are one product. On vectors
it holds the channel with its padding, as bytes, or where there is less room its last four rows. So
nine taps are one product; several filters of a channel share what is gathered. Where it takes fewer
instructions to gather windows from the map, or where there is no room, a layer on vectors gets
`npu.by_channel` instead. So does one that is worth the flash of a kernel with sixteen channels in
lanes, which needs no memory either. Of larger windows, as of 5x5 and 7x7, columns are gathered.
That is for layers without room for a copy of a channel, or if it is worth its flash.

The decision: whether there is room, and for how many rows. A layer gets a working memory only if it
lives beside the other buffers of the layer below the memory peak, so no arena grows for it, or
within `room` bytes. At the peak, the output may overwrite the input instead: the working memory
then takes the place of the rows by which an output has to stay behind its input.

`npu.by_channel` is for layers whose input and output lie side by side: below the peak, in loops,
which write rows of another buffer than they read, and where a later layer reads the input, too, so
that no output may lie there. It is also for layers whose input and output both lie plane by plane,
as an output then follows its input closely, and for layers of which one does, if no other order of
loops lets the output follow. Of other layouts, at the peak, `npu.over_input` says that each output
overwrites its own channel of the input only, so the two may begin at the same byte; it is for steps
that are so large that outputs stay in front of all that is read later, for layers that copy a
channel before they write it, and for rows of few columns, whose windows are gathered before the
output reaches them.

A kernel with a working memory takes more flash. If the constants of a program do not fit into its
flash even with all other layers small (`npu-choose-flash`), the bytes go to the layers, these and
others, that save most with them; those that then lack a working memory are small (`npu.flash`).

Layers with a stride at which gathering takes more than it saves, or with few columns stay as they
are, and layers in loops get no working memory. Programs that are planned as another type stay, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import BY_CHANNEL, FLASH, OVER_INPUT, PLANNED_AS
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.sram import AllocOp
from npu_passes.analysis.lifetimes import Lifetimes, lifetimes_of
from npu_passes.analysis.nests import storage_bytes
from npu_passes.analysis.on_chip import functions, on_chip_values
from npu_passes.analysis.peaks import least_bytes
from npu_passes.analysis.views import base_of
from npu_passes.buffers.choose_layouts import lies_in_planes, pixel_steps
from npu_passes.graph.use_flash import Flash
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.vector_choice import has_vector_outputs
from npu_passes.lowering.kernels.working_memory import (
    Memory,
    MemoryIn,
    beats_planes,
    can_copy_over,
    can_overwrite,
    has_columns,
    has_sixteen,
    has_windows,
    patches_beat_windows,
    working_memory,
)
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass, options_of
from npu_passes.overlap.beside import Far, bytes_without
from npu_passes.overlap.choose_flash import (
    budget_of,
    forms,
    layers_in,
    most_bytes,
    offer,
    others,
)
from npu_passes.support.common import LoopOptions
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.arena.joined import farther, joined
from npu_plans.arena.problem import Problem, live_bound
from npu_plans.kernels.flash_plan import taken


@dataclass(frozen=True)
class ChooseKernelsPass(RefusingPass):
    """Give depthwise convolutions the memory for a faster kernel; see the module."""

    name = "npu-choose-kernels"

    flash: Flash | None = None
    """The option of npu-lower-to-loops, which must get the same."""
    room: int = 0
    """Bytes that an arena may have even if it could do with fewer."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose function by function: first read all of it, then write.

        Raises: PassFailedException if `room` is negative.
        """
        if self.room < 0:
            raise Refusal(f"expected room of at least 0 bytes, got {self.room}")
        if PLANNED_AS.is_on(op):
            return
        options = LowerToLoopsPass(flash=self.flash).options(op)
        far = partial(bytes_without, ctx, op, LowerToLoopsPass(flash=self.flash))
        found = all_choices(op, options, self.room, far)
        small = too_dear(ctx, op, found, options, self.room, far) if self.flash is None else ()
        for index, choice in enumerate(found):
            if index in small:
                FLASH.set(choice.layer, "small")
            else:
                write(choice)


@dataclass(frozen=True)
class Choice:
    """A layer that gets a working memory; without one, it computes by channel.

    `merged`: the buffer that takes the place of another one, as the layer runs in place. `over`:
    the output may lie over its input.
    """

    layer: Conv2dOp
    memory: Memory | None = None
    merged: tuple[SSAValue, SSAValue] | None = None
    over: bool = False


def all_choices(module: ModuleOp, options: LoopOptions, room: int, far: Far) -> list[Choice]:
    """The choices of all functions."""
    return [
        choice
        for function in functions(module)
        if isinstance(function, FuncOp) and any(on_chip_values(function, SramSpace()))
        for choice in choices(lifetimes_of(function, SramSpace()), options, room, far)
    ]


def too_dear(
    ctx: Context,
    module: ModuleOp,
    found: Sequence[Choice],
    options: LoopOptions,
    room: int,
    far: Far,
) -> frozenset[int]:
    """The numbers of the choices for which the flash of a program has no bytes.

    There are none if the constants fit with all working memories while other layers are small. The
    module stays as it is.
    """
    budget, layers = budget_of(module), layers_in(module)
    asking: dict[LayerOp, int] = {
        choice.layer: index for index, choice in enumerate(found) if choice.memory
    }
    if budget is None or not asking or most_bytes(module, layers, list(asking)) <= budget:
        return frozenset()
    trial = module.clone()
    for choice in all_choices(trial, options, room, far):
        write(choice)
    made = layers_in(trial)
    fast, small = forms(ctx, trial, made, "fast"), forms(ctx, module, layers, "small")
    pairs = {own: (fast[other], small[own]) for own, other in zip(layers, made, strict=True)}
    least = others(module, layers) + sum(each.bytes for each in small.values())
    needed = sum(large.bytes - little.bytes for large, little in map(pairs.__getitem__, asking))
    if least + needed <= budget:
        return frozenset()
    chosen = taken([offer(layer, *pairs[layer]) for layer in layers], budget - least)
    return frozenset(
        asking[layer]
        for place, layer in enumerate(layers)
        if layer in asking and place not in chosen
    )


def choices(lifetimes: Lifetimes, options: LoopOptions, room: int, far: Far) -> list[Choice]:
    """The layers of a function for which there is room below the peak, or in `room` bytes."""
    least, problem = least_bytes(lifetimes)
    least = max(least, room)
    found: list[Choice] = []
    taken: set[SSAValue] = set()
    for point, op in enumerate(lifetimes.ops):
        if not isinstance(op, Conv2dOp) or op.scratch is not None:
            continue
        sixteen = has_sixteen(op, options_of(op, options))
        windows = sixteen or has_windows(op, options_of(op, options))
        columns = has_columns(op, options_of(op, options))
        if op.parent_op() is not lifetimes.function:
            found += [Choice(op)] if windows or columns else []
            continue
        memory_in = working_memory(op, options_of(op, options))
        live = sum(problem.buffers[each].size for each in problem.live_at(point))
        alone = (sixteen or columns) and beats_planes(op, options_of(op, options))
        if choice := below_peak(op, memory_in, least - live, alone=alone):
            found.append(choice)
            continue
        beside = live <= least or lives_on(op, point, lifetimes)
        if windows and (beside or stays_apart(op, far)):
            found.append(Choice(op))
            continue
        if dies_in(op, point, lifetimes) and (choice := over_input(op, options, memory_in, far)):
            found.append(choice)
            continue
        merged = memory_in and one_buffer(op, point, lifetimes, problem, options)
        if memory_in and merged and not taken & {base_of(each) for each in merged}:
            size = next(each.size for each in lifetimes.buffers if each.value is merged[1])
            room = least - (live - size)
            if memory := memory_in(room, max(room, behind(op))):
                found.append(Choice(op, memory, merged))
                taken |= {base_of(each) for each in merged}
                continue
        if columns and beside:
            found.append(Choice(op))
    return found


def below_peak(
    op: Conv2dOp, memory_in: MemoryIn | None, free: int, *, alone: bool
) -> Choice | None:
    """The choice of a layer beside whose buffers `free` bytes are left, if it gets a memory.

    `alone`: it gets none, but computes by channel, as that is worth its flash.
    """
    if alone and free >= 0:
        return Choice(op)
    if memory_in is not None and (memory := memory_in(free, free)):
        return Choice(op, memory)
    return None


def lives_on(op: Conv2dOp, point: int, lifetimes: Lifetimes) -> bool:
    """Whether the buffer that a layer reads is read later, and the output lies in another one."""
    source = base_of(op.input)
    lives = {each.value: each.last for each in lifetimes.buffers}
    return lives.get(source, point) > point and base_of(op.output) is not source


def stays_apart(op: Conv2dOp, far: Far) -> bool:
    """Whether a layer that computes by channel keeps its output no farther from its input.

    `far`: the bytes that other loops keep between them.
    """
    planes = [lies_in_planes(each) for each in (op.input, op.output)]
    return all(planes) or (any(planes) and far(op) >= storage_bytes(op.output))


def over_input(
    op: Conv2dOp, options: LoopOptions, memory_in: MemoryIn | None, far: Far
) -> Choice | None:
    """The choice of a layer whose outputs may overwrite their own channels of its dying input.

    Copies of channels must take no more bytes than the layer does without.
    """
    own = options_of(op, options)
    if can_overwrite(op, own) and not (
        fits_behind(op, memory_in) and patches_beat_windows(op, own)
    ):
        return Choice(op, over=True)
    if memory_in is None or not can_copy_over(op, own):
        return None
    memory = memory_in(0, far(op))
    return None if memory is None else Choice(op, memory, over=True)


def behind(op: Conv2dOp) -> int:
    """The bytes by which an output at least lies in front of its input if it may overwrite that.

    The kernel without a working memory reads whole pixels of the rows above.
    """
    return Grid.of(op).line * op.axes()[0].before


def fits_behind(op: Conv2dOp, memory_in: MemoryIn | None) -> bool:
    """Whether a working memory takes no more than what an output would have to stay behind."""
    return memory_in is not None and memory_in(0, behind(op)) is not None


def dies_in(op: Conv2dOp, point: int, lifetimes: Lifetimes) -> bool:
    """Whether the input of a layer dies in it, and its output begins there: both whole buffers."""
    lives = {each.value: each for each in lifetimes.buffers}
    before, behind_ = lives.get(op.input), lives.get(op.output)
    if before is None or behind_ is None or op.residual is not None:
        return False
    pinned = before.pin is not None and behind_.pin is not None
    return before.last == point == behind_.first and not pinned


def one_buffer(
    op: Conv2dOp, point: int, lifetimes: Lifetimes, problem: Problem, options: LoopOptions
) -> tuple[SSAValue, SSAValue] | None:
    """The input and the output of a layer that may lie in one buffer: (the one that stays, other).

    The input is a whole buffer, or a slice of one.
    """
    merged = merged_buffers(op, point, lifetimes)
    return merged or merged_slice(op, point, lifetimes, problem, options)


def merged_buffers(
    op: Conv2dOp, point: int, lifetimes: Lifetimes
) -> tuple[SSAValue, SSAValue] | None:
    """The input and the output of a layer that may be one buffer: (the one that stays, the other).

    Both are whole buffers of one type; the input dies in the layer, and the output begins there.
    """
    source, target = op.input, op.output
    lives = {each.value: each for each in lifetimes.buffers}
    before, behind_ = lives.get(source), lives.get(target)
    if before is None or behind_ is None or source.type != target.type or op.residual is not None:
        return None
    if before.last != point or behind_.first != point or not op.could_gather_in_place:
        return None
    if isinstance(target.owner, AllocOp) and before.pin is None:
        return source, target
    if isinstance(source.owner, AllocOp) and isinstance(target, BlockArgument):
        return target, source
    return None


def merged_slice(
    op: Conv2dOp, point: int, lifetimes: Lifetimes, problem: Problem, options: LoopOptions
) -> tuple[SSAValue, SSAValue] | None:
    """The input of a layer, a slice of a buffer that dies in it, and its output: it may lie there.

    The pixels of the output are then as far apart as those of the buffer, which lives as long. So
    only pointwise convolutions may read it, whose outputs follow closely. No plan may need more
    bytes for that than one in which the output follows the input row by row. On scalar cores,
    small maps would take more instructions in lines of such pixels.
    """
    source, target = op.input, op.output
    places = {each.value: index for index, each in enumerate(lifetimes.buffers)}
    whole, part = places.get(base_of(source)), places.get(target)
    if whole is None or part is None or not has_vector_outputs(op, options_of(op, options)):
        return None
    buffer, out = lifetimes.buffers[whole], lifetimes.buffers[part]
    slice_ = isinstance(source.owner, memref.SubviewOp) and source.owner.source is buffer.value
    begins = isinstance(target.owner, AllocOp) and buffer.last == point == out.first
    users = [use.operation for use in target.uses if use.operation is not op]
    readers = [each for each in users if is_pointwise(each, target)]
    closely = op.could_gather_in_place and len(readers) == len(users)
    if not (slice_ and begins and closely):
        return None
    merged = joined(problem, whole, part)
    for reader in readers:
        if (out := places.get(base_of(reader.output))) is not None:
            merged = farther(merged, out, whole, planes_behind(reader))
    apart = farther(problem, part, whole, behind(op))
    return None if live_bound(merged).bytes > live_bound(apart).bytes else (source, target)


def is_pointwise(op: Operation, map: SSAValue) -> TypeGuard[Conv2dOp]:
    """Whether an op is a pointwise convolution that reads a map with channels last, once."""
    if not isinstance(op, Conv2dOp) or [*op.operands].count(map) != 1 or op.input is not map:
        return False
    return op.group_count == 1 and shape_of(op.weight)[2:] == (1, 1) and op.pool is None


def planes_behind(op: Conv2dOp) -> int:
    """The bytes by which the first pixel of an output in planes reaches into it."""
    type_ = memref_type(op.output)
    strides = type_.get_strides()
    if pixel_steps(type_) is not None or strides is None:
        return 0
    return (shape_of(op.output)[1] - 1) * (strides[1] or 0)


def write(choice: Choice) -> None:
    """Write a choice: a buffer in front of the layer, and one buffer in the place of two."""
    layer = choice.layer
    if choice.memory is None:
        BY_CHANNEL.set(layer, True)
        if choice.over:
            OVER_INPUT.set(layer, True)
        return
    elements, element = choice.memory
    type_ = MemRefType(element, [elements], memory_space=SramSpace())
    scratch = AllocOp(type_)
    scratch.buffer.name_hint = "lines"
    Rewriter.insert_op(scratch, InsertPoint.before(layer))
    made = layer.with_scratch(scratch.buffer)
    Rewriter.replace_op(layer, made)
    if choice.over:
        OVER_INPUT.set(made, True)
    if choice.merged is None:
        return
    stays, other = choice.merged
    owner = other.owner
    assert isinstance(owner, AllocOp)
    other.replace_all_uses_with(stays)
    Rewriter.erase_op(owner)
