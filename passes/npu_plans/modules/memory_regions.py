"""Where MIFM and MOFM lie on chip (offsets of Algorithms 4 and 5 of paper 001): no IR in here.

In a chain of modules, the MOFM of one is the MIFM of the next. Maps that live together lie at
opposite ends of the SRAM, and what is between them is free for the layers:

    module 1: | MIFM |                  | MOFM |
    module 2: | MOFM     |              | MIFM |
    module 3: | MIFM     |  | nested MIFM |   | MOFM |

A branch that is the MIFM itself (DenseNet's growing concatenation) makes the MIFM a slice of the
MOFM, so that these two, and more of them, grow at one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from npu_plans.modules.module_data import Branch, FeatureMap, Module
from npu_plans.modules.policies import ModulePlan


@dataclass(frozen=True)
class Sram:
    """The memory that regions lie in: bytes, and what each offset is a multiple of."""

    capacity: int
    alignment: int


@dataclass(frozen=True)
class Region:
    """Bytes of a map on chip, and its place; none where a later pass has to find one."""

    size: int
    offset: int | None


@dataclass(frozen=True)
class ModuleRegions:
    """MIFM and MOFM of a module, as far as they are on chip, and those of its nested modules."""

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
    """Split modules where no map is handed over on chip."""
    chain: list[ChainedModule] = []
    for step in steps:
        if chain and not (step.follows and step.plan.kept and chain[-1].plan.policy == "I"):
            yield chain
            chain = []
        chain.append(step)
    if chain:
        yield chain


def chain_regions(chain: Sequence[ChainedModule], sram: Sram) -> tuple[ModuleRegions, ...]:
    """Regions of the modules of a chain."""
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
    """Where the MIFM lies in the MOFM, if a branch is the MIFM itself and parts are slices."""
    if module.merge == "concat":
        for branch in module.branches:
            if module.is_view(branch):
                return module.slice_offset(branch)
    return None


def place(sizes: Sequence[int], shifts: Sequence[int | None], sram: Sram) -> list[int | None]:
    """Offsets of maps of which two in a row live together.

    `shifts[i]` is the place of map i inside map i + 1, if it is a slice of it.
    """
    groups: list[list[int]] = []  # the places of each map of a group in the last one of the group
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
    """Regions of the modules inside each branch of a module, in execution order."""
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
    """Regions of one nested module: its MIFM beside the outer one, its MOFM inside the outer one.

    The regions of a nested module are free again behind it.
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
    """The place of a nested MIFM: on the side of the outer MIFM that faces the MOFM."""
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
