"""Counts the bytes and accesses of off-chip memory in one run of a module: no IR in here.

These conventions of Table 1 of paper 001 are all needed to reproduce its numbers:

* In the naive count, each layer reads its IFM and writes its OFM; a concatenation moves nothing.
* Maps are counted as they are stored, in whole patches. Weights count once, without bias.
* A MIFM is on chip when its module starts, unless the module before has left it off chip. Then it
  is read once, with one access for each run of adjacent off-chip parts.

The paper does not say the following. An addition is a layer that reads its operands and writes
their sum. In the naive count, a fused pool is a layer of its own. A sum that has left the chip is
read back for the next branch. Under policy II, a MIFM that is a part of the MOFM is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from npu_plans.modules.module_data import FeatureMap, Layer, Module
from npu_plans.modules.policies import ModulePlan


@dataclass(frozen=True)
class Traffic:
    """Off-chip traffic: bytes of weights, and bytes and accesses of feature maps."""

    weight_bytes: int = 0
    feature_map_read_bytes: int = 0
    feature_map_write_bytes: int = 0
    feature_map_reads: int = 0
    feature_map_writes: int = 0

    @property
    def feature_map_bytes(self) -> int:
        """Bytes of feature maps that are read or written."""
        return self.feature_map_read_bytes + self.feature_map_write_bytes

    @property
    def overall_bytes(self) -> int:
        """Bytes of feature maps and weights."""
        return self.weight_bytes + self.feature_map_bytes

    def __add__(self, other: Traffic) -> Traffic:
        """The sum of two traffics, field by field."""
        return Traffic(
            self.weight_bytes + other.weight_bytes,
            self.feature_map_read_bytes + other.feature_map_read_bytes,
            self.feature_map_write_bytes + other.feature_map_write_bytes,
            self.feature_map_reads + other.feature_map_reads,
            self.feature_map_writes + other.feature_map_writes,
        )


def total(parts: Iterable[Traffic]) -> Traffic:
    """The sum of several traffics."""
    return sum(parts, Traffic())


def read(size: int, accesses: int = 1) -> Traffic:
    """Reads of `size` bytes in total, in `accesses` accesses; nothing if `size` is 0."""
    return Traffic(feature_map_read_bytes=size, feature_map_reads=accesses) if size else Traffic()


def write(size: int) -> Traffic:
    """One write of `size` bytes; nothing if `size` is 0."""
    return Traffic(feature_map_write_bytes=size, feature_map_writes=1) if size else Traffic()


def naive_layer(layer: Layer) -> Traffic:
    """The traffic of one layer whose maps all lie off chip."""
    traffic = Traffic(weight_bytes=layer.parameters)
    if not layer.moves:
        return traffic
    maps = [read(each.size.full) for each in layer.reads]
    return total([traffic, *maps, write(layer.inside), read(layer.inside), write_map(layer.result)])


def naive_module(module: Module) -> Traffic:
    """The traffic of a module that runs layer by layer, with all maps off chip."""
    traffic = total(naive_layer(layer) for layer in module.layers())
    return traffic + total(merge_layer(each) for each in with_nested(module))


def merge_layer(module: Module) -> Traffic:
    """The traffic of a module's merge as a layer of its own; a concatenation has none."""
    if module.merge == "concat":
        return Traffic()
    parts = [read(branch.result.size.full) for branch in module.branches]
    return total([*parts, write_map(module.result)])


def with_nested(module: Module) -> Iterator[Module]:
    """A module and all modules nested in it."""
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
    """The off-chip parts of a map: their bytes, and how many runs of adjacent parts they form."""

    size: int = 0
    runs: int = 0


def left_off_chip(module: Module, plan: ModulePlan) -> OffChip:
    """The parts of its MOFM that a module leaves off chip."""
    parts = list(parts_off_chip(module, plan))
    size = sum(each for each, off in parts if off)
    if module.merge == "add":
        on_chip = [made.stays for made in plan.branches if made.steps]
        return OffChip() if all(on_chip[-1:]) else OffChip(module.result.size.full, 1)
    return OffChip(size, sum(off for off, _ in groupby(off for _, off in parts)))


def parts_off_chip(module: Module, plan: ModulePlan) -> Iterator[tuple[int, bool]]:
    """For each part of a MOFM, in the order of the merge: its bytes, and whether it is off chip."""
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
    """The traffic of a module with a plan.

    `arrives`: the parts of its MIFM that the module before has left off chip; None if no module
    made the MIFM.
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
    """The feature map traffic of the layers and the merge of a module.

    `off_chip`: the maps from outside the module that are off chip. `arrived`: the bytes of the MIFM
    that are off chip when the module starts.
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
    """The write of a MIFM on chip that is a part of a MOFM off chip; nothing for other modules.

    `arrived`: the bytes of the MIFM that are off chip already.
    """
    if not plan.kept or plan.policy == "I" or module.merge == "add":
        return Traffic()
    views = any(map(module.is_view, module.branches))
    return write(module.input.size.full - arrived) if views else Traffic()


def layer_traffic(layer: Layer, forward: bool, away: set[FeatureMap]) -> Traffic:
    """The feature map traffic of one layer.

    `forward`: whether its OFM stays on chip; `away`: the maps that are off chip.
    """
    maps = [read(each.size.full) for each in dict.fromkeys(layer.reads) if each in away]
    return total([*maps, Traffic() if forward else write_map(layer.result)])


def sums_read_back(module: Module, plan: ModulePlan) -> Traffic:
    """The reads of sums that left the chip, for the branches that are added to them."""
    if module.merge == "concat":
        return Traffic()
    left = [not made.stays for made in plan.branches if made.steps]
    return total(read(module.result.size.full) for each in left[:-1] if each)


def peak_bytes(plan: ModulePlan, capacity: int) -> int:
    """The most bytes on chip while a layer of a module runs."""
    return max((capacity - each.available + each.required for each in plan.layers()), default=0)
