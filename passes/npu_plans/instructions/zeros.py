"""How often values are zero: what a library function for floats does faster.

A value that was rectified is zero about every second time. So is an element of a rectified map: the
output of a layer with ReLU, as it is or after a pool. In an int8 map it is its zero point, -128.
Where the shares of zeros in maps were measured, these count instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from npu_plans.instructions.code import Access, Compute, Function, Step, steps_within

OFTEN = 0.5
"""The share of zeros of what is rectified, an assumption: the numbers lie on both sides of zero."""
ZERO, OFFSET = "f32 0.0", "i32 128 "
"""The beginnings of the constants 0.0, and 128, which the smallest int8 zero point adds."""

SCALES = ("arith.sitofp.f32", "arith.mulf.f32", "arith.divf.f32")
"""Kinds of ops that give zero for zero."""
SHIFTS = ("arith.addf.f32", "arith.subf.f32")
"""Kinds of sums. With a constant they are the same number every second time."""
SELECTS = frozenset(("arith.select.f32", "arith.maximumf.f32", "arith.maxnumf.f32"))
"""Kinds of ops that rectify."""
FOLLOWS = frozenset(
    f"arith.{name}"
    for name in "trunci.i8 extsi.i32 addi.i32 fptosi.i32 addf.f32 subf.f32 select.i32".split()
)
"""Kinds of ops between a rectified value and the element that is stored, or that choose one."""


def zero_shares(function: Function, arguments: Mapping[int, float]) -> dict[int, float]:
    """The share of zeros of each value that is often zero, or follows from one and constants.

    `arguments` are the shares of zeros in the maps that are arguments.
    """
    found: dict[int, float] = {}
    stored: dict[int, float] = {}
    for step in steps_within(function.body):
        if isinstance(step, Access) and not step.writes:
            if step.root in arguments:
                shares = stored if step.element == "i8" else found
                shares[step.value] = arguments[step.root]
        elif isinstance(step, Compute) and step.kind == "arith.extsi.i32":
            if step.operands[0] in stored:
                stored[step.result] = stored[step.operands[0]]
        elif isinstance(step, Compute) and (share := share_of(step, function, found, stored)):
            found[step.result] = share
    return found


def share_of(
    step: Compute, function: Function, found: Mapping[int, float], stored: Mapping[int, float]
) -> float:
    """The share of zeros of the result of an op, if the values `found` have theirs."""
    share = any_zero(step.operands, found)
    if step.kind in SCALES:
        return share
    if step.kind in SHIFTS:
        return share if any(function.is_constant(value) for value in step.operands) else 0.0
    if step.kind in SELECTS:
        return max(share, OFTEN) if has_constant(step, function, ZERO) else share
    if step.kind == "arith.addi.i32" and has_constant(step, function, OFFSET):
        return any_zero(step.operands, stored)
    return 0.0


def any_zero(values: Collection[int], shares: Mapping[int, float]) -> float:
    """How often at least one of some values is zero, each with its share, independently."""
    return 1.0 - prod(1.0 - shares.get(value, 0.0) for value in set(values))


def has_constant(step: Compute, function: Function, text: str) -> bool:
    """Whether an op reads a constant that begins with a text."""
    return any(function.constants.get(value, "").startswith(text) for value in step.operands)


def rectified_roots(function: Function, rectified: Collection[int]) -> dict[int, bool]:
    """For each buffer that a function writes, whether most stores are rectified.

    `rectified` are the arguments of which elements are often zero.
    """
    steps = list(steps_within(function.body))
    makers: dict[int, Step] = {}
    for step in steps:
        if isinstance(step, Compute):
            makers[step.result] = step
        elif isinstance(step, Access) and not step.writes:
            makers[step.value] = step
    counts: dict[int, int] = {}
    for step in steps:
        if isinstance(step, Access) and step.writes:
            way = 1 if is_rectified(step.value, makers, function, rectified) else -1
            counts[step.root] = counts.get(step.root, 0) + way
    return {root: count > 0 for root, count in counts.items()}


def is_rectified(
    value: int, makers: Mapping[int, Step], function: Function, rectified: Collection[int]
) -> bool:
    """Whether a value is the larger one of a number and zero, or follows from one and constants."""
    waiting, seen = [value], set[int]()
    while waiting:
        step = makers.get(value := waiting.pop())
        if value in seen or step is None:
            continue
        seen.add(value)
        if isinstance(step, Access):
            if step.root in rectified:
                return True
        elif isinstance(step, Compute) and step.kind in SELECTS | FOLLOWS:
            if step.kind in SELECTS and has_constant(step, function, ZERO):
                return True
            waiting += step.operands
    return False
