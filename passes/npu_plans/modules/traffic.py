"""Bytes and accesses that cross the border of the chip in one run of a module: no IR in here.

The conventions of Table 1 of paper 001, all needed to get its numbers:

* naive: each layer reads its IFM and writes its OFM; a concatenation moves nothing;
* maps are counted as they are stored, in whole patches; weights without bias, once;
* a MIFM is on chip when its module starts, unless the module before it has left it off chip: then
  it is read once, with one access for each run of parts that lie one behind the other.

Where the paper is silent: an addition is a layer that reads its operands and writes their sum; a
fused pool is a layer of its own in the naive count; a sum that has left the chip is read back for
the next branch; under policy II a MIFM that is a part of the MOFM is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from npu_plans.modules.module_data import FeatureMap, Layer, Module
from npu_plans.modules.policies import ModulePlan


@dataclass(frozen=True)
class Traffic:
    """Bytes of weights, and bytes and accesses of feature maps."""

    weight_bytes: int = 0
    feature_map_read_bytes: int = 0
    feature_map_write_bytes: int = 0
    feature_map_reads: int = 0
    feature_map_writes: int = 0

    @property
    def feature_map_bytes(self) -> int:
        """Reads and writes."""
        return self.feature_map_read_bytes + self.feature_map_write_bytes

    @property
    def overall_bytes(self) -> int:
        """Maps and weights."""
        return self.weight_bytes + self.feature_map_bytes

    def __add__(self, other: Traffic) -> Traffic:
        """Both."""
        return Traffic(
            self.weight_bytes + other.weight_bytes,
            self.feature_map_read_bytes + other.feature_map_read_bytes,
            self.feature_map_write_bytes + other.feature_map_write_bytes,
            self.feature_map_reads + other.feature_map_reads,
            self.feature_map_writes + other.feature_map_writes,
        )


def total(parts: Iterable[Traffic]) -> Traffic:
    """The sum of several."""
    return sum(parts, Traffic())


def read(size: int, accesses: int = 1) -> Traffic:
    """Reads of so many bytes in all."""
    return Traffic(feature_map_read_bytes=size, feature_map_reads=accesses) if size else Traffic()


def write(size: int) -> Traffic:
    """One write."""
    return Traffic(feature_map_write_bytes=size, feature_map_writes=1) if size else Traffic()


def naive_layer(layer: Layer) -> Traffic:
    """One layer between maps that lie off chip."""
    traffic = Traffic(weight_bytes=layer.parameters)
    if not layer.moves:
        return traffic
    maps = [read(each.size.full) for each in layer.reads]
    return total([traffic, *maps, write(layer.inside), read(layer.inside), write_map(layer.result)])


def naive_module(module: Module) -> Traffic:
    """A module layer by layer."""
    traffic = total(naive_layer(layer) for layer in module.layers())
    return traffic + total(merge_layer(each) for each in with_nested(module))


def merge_layer(module: Module) -> Traffic:
    """The merge as a layer of its own: a concatenation is none."""
    if module.merge == "concat":
        return Traffic()
    parts = [read(branch.result.size.full) for branch in module.branches]
    return total([*parts, write_map(module.result)])


def with_nested(module: Module) -> Iterator[Module]:
    """A module and all modules in it."""
    yield module
    for branch in module.branches:
        for step in branch.steps:
            if isinstance(step, Module):
                yield from with_nested(step)


def write_map(each: FeatureMap) -> Traffic:
    """One write of a whole map."""
    return write(each.size.full)


@dataclass(frozen=True)
class OffChip:
    """What of a map lies off chip: bytes, and runs of parts one behind the other."""

    size: int = 0
    runs: int = 0


def left_off_chip(module: Module, plan: ModulePlan) -> OffChip:
    """What of its MOFM a module leaves off chip."""
    parts = list(parts_off_chip(module, plan))
    size = sum(each for each, off in parts if off)
    if module.merge == "add":
        on_chip = [made.stays for made in plan.branches if made.steps]
        return OffChip() if all(on_chip[-1:]) else OffChip(module.result.size.full, 1)
    return OffChip(size, sum(off for off, _ in groupby(off for _, off in parts)))


def parts_off_chip(module: Module, plan: ModulePlan) -> Iterator[tuple[int, bool]]:
    """Bytes of each part of a MOFM, in the order of the merge, and whether it lies off chip."""
    pairs = zip(module.branches, plan.branches, strict=True)
    for branch, made in sorted(pairs, key=lambda pair: pair[0].part):
        if not branch.steps:
            yield branch.result.size.full, plan.policy == "II" and module.merge == "concat"
            continue
        last, last_plan = branch.steps[-1], made.steps[-1]
        if isinstance(last, Module) and isinstance(last_plan, ModulePlan):
            yield from parts_off_chip(last, last_plan)
        else:
            yield branch.result.size.full, not last_plan.forward


def planned_module(module: Module, plan: ModulePlan, arrives: OffChip | None) -> Traffic:
    """A module as planned.

    `arrives` is what of its MIFM the module before it has left off chip; None if no module made it.
    """
    weights = Traffic(weight_bytes=sum(layer.parameters for layer in module.layers()))
    away = OffChip() if arrives is None else arrives
    if plan.kept:
        entry = read(away.size, away.runs)
    else:
        entry = Traffic() if arrives is None else write(module.input.size.full - away.size)
    return weights + entry + inner_traffic(module, plan, frozenset(), away.size)


def inner_traffic(
    module: Module, plan: ModulePlan, off_chip: frozenset[FeatureMap], arrived: int = 0
) -> Traffic:
    """What the layers of a module move.

    `off_chip` are the maps from outside that lie there, `arrived` the bytes of the MIFM that do.
    """
    outside = off_chip if plan.kept else off_chip | {module.input}
    traffic = view_written(module, plan, arrived) + sums_read_back(module, plan)
    for branch, made in zip(module.branches, plan.branches, strict=True):
        away = set(outside)
        for step, step_plan in zip(branch.steps, made.steps, strict=True):
            if isinstance(step, Module) and isinstance(step_plan, ModulePlan):
                traffic += inner_traffic(step, step_plan, frozenset(away))
            elif isinstance(step, Layer):
                traffic += layer_traffic(step, step_plan.forward, away)
            if not step_plan.forward:
                away.add(step.result)
    return traffic


def view_written(module: Module, plan: ModulePlan, arrived: int) -> Traffic:
    """A MIFM on chip that is a part of a MOFM off chip has to be written."""
    if not plan.kept or plan.policy == "I" or module.merge == "add":
        return Traffic()
    views = any(map(module.is_view, module.branches))
    return write(module.input.size.full - arrived) if views else Traffic()


def layer_traffic(layer: Layer, forward: bool, away: set[FeatureMap]) -> Traffic:
    """What one layer moves."""
    maps = [read(each.size.full) for each in dict.fromkeys(layer.reads) if each in away]
    return total([*maps, Traffic() if forward else write_map(layer.result)])


def sums_read_back(module: Module, plan: ModulePlan) -> Traffic:
    """A sum that has left the chip comes back for the branch that is added to it."""
    if module.merge == "concat":
        return Traffic()
    left = [not made.stays for made in plan.branches if made.steps]
    return total(read(module.result.size.full) for each in left[:-1] if each)


def peak_bytes(plan: ModulePlan, capacity: int) -> int:
    """The most bytes on chip while a layer of a module runs."""
    return max((capacity - each.available + each.required for each in plan.layers()), default=0)
