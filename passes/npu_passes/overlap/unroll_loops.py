"""`npu-unroll-loops`: write the steps of short loops over tiles one after the other.

Level of IR: loops over tiles with transfers, behind `npu-double-buffer`, before buffers have
offsets. A loop of at most `steps` steps around a loop whose steps overlap becomes its steps:

    scf.for %out = %c0 to %c2 step %c1 {        the first step of %in for %out = 0
      the first step of %in                     scf.for %in ... {npu.double_buffered}
      scf.for %in ... {npu.double_buffered}     the last step of %in, and the store
      the last step of %in, and the store   =>  the first step of %in for %out = 1
    }                                           scf.for %in ... {npu.double_buffered}
                                                the last step of %in, and the store

In a loop, the first load of a step cannot start in the step before it. `npu-prefetch` moves it
there once both stand in one block. A loop of at most `own-steps` steps that overlap becomes its
steps, too, if it lies in no other loop: layers in front of it then run beside its loads. The tokens
that it carries become those of the starts:

    %t1 = dma.start ...                         %t1 = dma.start ...
    scf.for %i = %c0 to %c2 step %c1            %t2 = dma.start %rows(2) to %a(2)
        iter_args(%t = %t1) {                   npu.conv2d ins(%a(0)) outs(%b)
      %u = dma.start %rows(i + 2)               dma.wait %t1
        to %a((i + 2) mod 3)                =>  %t3 = dma.start %rows(3) to %a(0)
      npu.conv2d ins(%a(i mod 3)) outs(%b)      npu.conv2d ins(%a(1)) outs(%b)
      dma.wait %t                               dma.wait %t2
      scf.yield %u
    } {npu.double_buffered}

Indices that are known in a step become constants, so that later passes know which part of a buffer
a view shows. The code of a loop is there several times, so other loops stay as they are: those with
more steps, and those with bounds that are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import DOUBLE_BUFFERED
from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.index_values import result_of
from npu_passes.overlap.double_buffer import follow
from npu_passes.overlap.overlap import NotPossible, counted
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class UnrollLoopsPass(RefusingPass):
    """Unroll short loops around loops whose steps overlap, and short ones among these themselves;
    see the module."""

    name = "npu-unroll-loops"

    steps: int = 2
    """The most steps of a loop that is unrolled around loops whose steps overlap."""
    own_steps: int = 2
    """The most steps of a loop that is unrolled because they overlap."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Unroll inner loops before outer ones.

        Raises: PassFailedException if `steps` or `own-steps` is negative.
        """
        for name, most in (("steps", self.steps), ("own-steps", self.own_steps)):
            if most < 0:
                raise Refusal(f"expected {name} of at least 0, got {most}")
        unroll_all(op, has_overlapping_steps, self.steps)
        unroll_all(op, overlaps_alone, self.own_steps)


def unroll_all(module: ModuleOp, wanted: Callable[[scf.ForOp], bool], most: int) -> None:
    """Unroll the loops of a kind that have at most so many steps, inner ones first."""
    for loop in reversed([each for each in module.walk() if isinstance(each, scf.ForOp)]):
        if wanted(loop) and is_short(loop, most):
            unroll(loop)


def has_overlapping_steps(loop: scf.ForOp) -> bool:
    """Whether a loop in the body of this one runs transfers beside computing."""
    return any(
        isinstance(op, scf.ForOp) and DOUBLE_BUFFERED.is_on(op) for op in loop.body.block.ops
    )


def overlaps_alone(loop: scf.ForOp) -> bool:
    """Whether a loop runs transfers beside computing, in no other loop and around no such one."""
    if not DOUBLE_BUFFERED.is_on(loop) or has_overlapping_steps(loop):
        return False
    return not isinstance(loop.parent_op(), scf.ForOp)


def is_short(loop: scf.ForOp, most: int) -> bool:
    """Whether a loop has at most so many steps, as far as that is known."""
    try:
        _, rounds, _ = counted(loop)
    except NotPossible:
        return False
    return 2 <= rounds <= most


def unroll(loop: scf.ForOp) -> None:
    """Replace a loop by its steps; what it carries goes from one to the next."""
    first, rounds, step = counted(loop)
    b = LoopBuilder(loop)
    carried = tuple(loop.iter_args)
    for number in range(rounds):
        index, *arguments = loop.body.block.args
        values: dict[SSAValue, SSAValue] = {index: b.value(first + number * step)}
        values.update(zip(arguments, carried, strict=True))
        carried = build_step(b, loop, rounds, values)
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    parent = loop.parent
    assert parent is not None
    parent.erase_op(loop)


def build_step(
    b: LoopBuilder, loop: scf.ForOp, rounds: int, values: dict[SSAValue, SSAValue]
) -> tuple[SSAValue, ...]:
    """Build one of the `rounds` steps of a loop; returns what it hands on.

    `values`: what stands for the arguments of the loop's body; the results of its ops are added.
    """
    for op in loop.body.block.ops:
        if isinstance(op, scf.YieldOp):
            continue
        if (number := known_index(op, values)) is not None:
            values[op.results[0]] = b.value(number)
            continue
        copy = b.insert(op.clone(values))
        for old, new in list(zip(op.walk(), copy.walk(), strict=True)):
            follow(old, new, rounds, 1)
            values.update(zip(old.results, new.results, strict=True))
    last = loop.body.block.last_op
    assert last is not None
    return tuple(values.get(value, value) for value in last.operands)


def known_index(op: Operation, values: dict[SSAValue, SSAValue]) -> int | None:
    """The index that an op computes from constants; None if it is not known."""
    if len(op.results) != 1 or not isinstance(op.results[0].type, IndexType):
        return None
    return result_of(op, lambda value: constant_of(values.get(value, value)))
