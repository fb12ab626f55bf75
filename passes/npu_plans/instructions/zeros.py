"""Which values are often zero: what a library function for floats does faster.

A value that was rectified is zero about every second time. So is an element of a rectified map: the
output of a layer with ReLU, as it is or after a pool. In an int8 map it is its zero point, -128.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from npu_plans.instructions.code import Access, Compute, Function, Step, steps_within

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


def often_zero(function: Function, rectified: Collection[int]) -> frozenset[int]:
    """The values that are often zero, or that follow from one and constants.

    `rectified` are the arguments of which elements are often zero.
    """
    found: set[int] = set()
    stored: set[int] = set()
    for step in steps_within(function.body):
        if isinstance(step, Access) and not step.writes:
            if step.root in rectified:
                (stored if step.element == "i8" else found).add(step.value)
        elif isinstance(step, Compute) and step.kind == "arith.extsi.i32":
            stored.update((step.result,) if step.operands[0] in stored else ())
        elif isinstance(step, Compute) and is_often_zero(step, function, found, stored):
            found.add(step.result)
    return frozenset(found)


def is_often_zero(
    step: Compute, function: Function, found: Collection[int], stored: Collection[int]
) -> bool:
    """Whether the result of an op is often zero, if the values `found` are."""
    known = any(value in found for value in step.operands)
    if step.kind in SCALES:
        return known
    if step.kind in SHIFTS:
        return known and any(function.is_constant(value) for value in step.operands)
    if step.kind in SELECTS:
        return known or has_constant(step, function, ZERO)
    if step.kind == "arith.addi.i32":
        return has_constant(step, function, OFFSET) and any(v in stored for v in step.operands)
    return False


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
