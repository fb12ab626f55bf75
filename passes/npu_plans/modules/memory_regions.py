"""Offsets of MIFM and MOFM on chip (Algorithms 4 and 5 of paper 001): no IR in here.

In a chain of modules, the MOFM of one is the MIFM of the next. Maps that live together lie at
opposite ends of the SRAM, and the bytes between them are free for the layers:

    module 1: | MIFM |                  | MOFM |
    module 2: | MOFM     |              | MIFM |
    module 3: | MIFM     |  | nested MIFM |   | MOFM |

If a branch is the MIFM itself (DenseNet's growing concatenation), the MIFM is a slice of the MOFM.
Then both lie at the same end, and so do further modules of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from npu_plans.modules.module_data import Branch, FeatureMap, Module
from npu_plans.modules.policies import ModulePlan


@dataclass(frozen=True)
class Sram:
    """The memory of the regions: its size in bytes, and the alignment of each offset in bytes."""

    capacity: int
    alignment: int


@dataclass(frozen=True)
class Region:
    """Size and offset of a map on chip, in bytes; a later pass chooses an offset of None."""

    size: int
    offset: int | None


@dataclass(frozen=True)
class ModuleRegions:
    """The regions of a module's MIFM and MOFM; None if the map is off chip.

    `nested`: for each branch the regions of its nested modules, in execution order.
    """

    mifm: Region | None
    mofm: Region | None
    nested: tuple[tuple[ModuleRegions, ...], ...] = ()


@dataclass(frozen=True)
class ChainedModule:
    """A module of a chain: `follows` says whether its MIFM is the MOFM of the one before it."""

    module: Module
    plan: ModulePlan
    follows: bool = False


def chains(steps: Sequence[ChainedModule]) -> Iterator[list[ChainedModule]]:
    """Split modules into chains: from one module of a chain to the next a map stays on chip."""
    chain: list[ChainedModule] = []
    for step in steps:
        if chain and not (step.follows and step.plan.kept and chain[-1].plan.policy == "I"):
            yield chain
            chain = []
        chain.append(step)
    if chain:
        yield chain


def chain_regions(chain: Sequence[ChainedModule], sram: Sram) -> tuple[ModuleRegions, ...]:
    """The regions of each module of a chain."""
    first = chain[0]
    maps: list[FeatureMap] = [first.module.input] if first.plan.kept else []
    shifts: list[int | None] = []
    for step in chain:
        if step.plan.policy == "I":
            if maps:
                shifts.append(view_offset(step.module))
            maps.append(step.module.result)
    places = dict(zip(maps, place([each.size.full for each in maps], shifts, sram), strict=True))
    made: list[ModuleRegions] = []
    source = first.module.input
    for step in chain:
        mifm = Region(source.size.full, places[source]) if step.plan.kept else None
        source = step.module.result
        mofm = Region(source.size.full, places[source]) if step.plan.policy == "I" else None
        made.append(ModuleRegions(mifm, mofm, nested_regions(step.module, step.plan, mifm, mofm)))
    return tuple(made)


def view_offset(module: Module) -> int | None:
    """The offset of the MIFM in the MOFM in bytes; None if the MIFM is no slice of the MOFM."""
    if module.merge == "concat":
        for branch in module.branches:
            if module.is_view(branch):
                return module.slice_offset(branch)
    return None


def place(sizes: Sequence[int], shifts: Sequence[int | None], sram: Sram) -> list[int | None]:
    """Offsets of maps of which each lives together with the next; None if it cannot be placed.

    `shifts[i]` is the offset of map i inside map i + 1; None if map i is no slice of map i + 1.
    """
    groups: list[list[int]] = []  # offsets of the maps of a group in the last map of the group
    for shift in (None, *shifts) if sizes else ():
        if shift is None:
            groups.append([0])
        else:
            groups[-1] = [*(each + shift for each in groups[-1]), 0]
    offsets: list[int | None] = []
    for index, group in enumerate(groups):
        size = sizes[len(offsets) + len(group) - 1]
        free = sram.capacity - size
        base = free // sram.alignment * sram.alignment if index % 2 else 0
        offsets += [base + each if free >= 0 else None for each in group]
    for index, (one, other) in enumerate(pairwise(list(offsets))):
        if one is None or other is None or shifts[index] is not None:
            continue
        if one < other + sizes[index + 1] and other < one + sizes[index]:
            offsets[index + 1] = None
    return offsets


def nested_regions(
    module: Module, plan: ModulePlan, mifm: Region | None, mofm: Region | None
) -> tuple[tuple[ModuleRegions, ...], ...]:
    """For each branch of a module the regions of its nested modules, in execution order."""
    return tuple(
        tuple(
            inner_regions(module, branch, step, inner, mifm, mofm)
            for step, inner in zip(branch.steps, branch_plan.steps, strict=True)
            if isinstance(step, Module) and isinstance(inner, ModulePlan)
        )
        for branch, branch_plan in zip(module.branches, plan.branches, strict=True)
    )


def inner_regions(
    outer: Module,
    branch: Branch,
    module: Module,
    plan: ModulePlan,
    mifm: Region | None,
    mofm: Region | None,
) -> ModuleRegions:
    """The regions of one nested module: its MIFM beside the outer MIFM, its MOFM in the outer MOFM.

    The nested MIFM is free again after the nested module.
    """
    inner_mifm = inner_mofm = None
    if plan.kept:
        inner_mifm = mifm if module.input == outer.input else beside(mifm, mofm, module.input)
    if plan.policy == "I":
        offset = None
        start = outer.slice_offset(branch)
        if module.result == branch.result and mofm is not None and start is not None:
            offset = None if mofm.offset is None else mofm.offset + start
        inner_mofm = Region(module.result.size.full, offset)
    return ModuleRegions(
        inner_mifm, inner_mofm, nested_regions(module, plan, inner_mifm, inner_mofm)
    )


def beside(mifm: Region | None, mofm: Region | None, inner: FeatureMap) -> Region:
    """The region of a nested MIFM: adjacent to the outer MIFM, on the side of the outer MOFM.

    Its offset is None if it does not fit there.
    """
    size = inner.size.full
    if mifm is None or mofm is None or mifm.offset is None or mofm.offset is None:
        return Region(size, None)
    if mifm.offset < mofm.offset:
        offset = mifm.offset + mifm.size
        fits = offset + size <= mofm.offset
    else:
        offset = mifm.offset - size
        fits = offset >= mofm.offset + mofm.size
    return Region(size, offset if fits else None)
