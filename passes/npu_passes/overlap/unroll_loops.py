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
there once both stand in one block. The code of the loop is there several times, so other loops
stay as they are: those with more steps, with bounds that are not known, and with carried values.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npu_dialect.attributes import DOUBLE_BUFFERED
from npu_passes.overlap.double_buffer import follow
from npu_passes.overlap.overlap import NotPossible, trip
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class UnrollLoopsPass(RefusingPass):
    """Unroll short loops around loops whose steps overlap; see the module."""

    name = "npu-unroll-loops"

    steps: int = 2
    """The most steps of a loop that is unrolled."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Unroll inner loops before outer ones.

        Raises: PassFailedException if `steps` is negative.
        """
        if self.steps < 0:
            raise Refusal(f"expected steps of at least 0, got {self.steps}")
        for loop in reversed([each for each in op.walk() if isinstance(each, scf.ForOp)]):
            if has_overlapping_steps(loop) and is_short(loop, self.steps):
                unroll(loop)


def has_overlapping_steps(loop: scf.ForOp) -> bool:
    """Whether a loop in the body of this one runs transfers beside computing."""
    return any(
        isinstance(op, scf.ForOp) and DOUBLE_BUFFERED.is_on(op) for op in loop.body.block.ops
    )


def is_short(loop: scf.ForOp, most: int) -> bool:
    """Whether a loop has at most so many steps, as far as that is known."""
    try:
        _, rounds, _ = trip(loop)
    except NotPossible:
        return False
    return rounds <= most


def unroll(loop: scf.ForOp) -> None:
    """Replace a loop that carries no values by its steps."""
    first, rounds, step = trip(loop)
    b = LoopBuilder(loop)
    for number in range(rounds):
        values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: b.value(first + number * step)}
        for op in loop.body.block.ops:
            if isinstance(op, scf.YieldOp):
                continue
            copy = b.insert(op.clone(values))
            for old, new in list(zip(op.walk(), copy.walk(), strict=True)):
                follow(old, new, rounds, 1)
                values.update(zip(old.results, new.results, strict=True))
    parent = loop.parent
    assert parent is not None
    parent.erase_op(loop)
