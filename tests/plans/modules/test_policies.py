"""Footprints, Algorithms 3 to 6 and traffic on plain data, for random modules."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.modules.choose_policy import plan_module, spilled_bytes
from npu_plans.modules.footprints import Storage
from npu_plans.modules.memory_regions import ChainedModule, Sram, chain_regions, chains, place
from npu_plans.modules.module_data import Branch, FeatureMap, Layer, Module
from npu_plans.modules.policies import (
    LayerPlan,
    Misfit,
    ModulePlan,
    Room,
    attempt,
    branch_order,
    process_module,
)
from npu_plans.modules.traffic import (
    OffChip,
    left_off_chip,
    naive_module,
    peak_bytes,
    planned_module,
)

KB = 1024
NPU = Storage(4, 4, 16, 2, 4, "stride-1-map")
LARGE = 2**40

sizes = st.integers(1, 60)
shapes = st.tuples(st.just(1), sizes, sizes, sizes)
storages = st.builds(
    Storage,
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(0, 16),
    st.integers(1, 2),
    st.integers(1, 4),
    st.sampled_from(["none", "stride-1-map"]),
)


def reordered(module: Module) -> tuple[Branch, ...]:
    """The branches in the order of Algorithm 3."""
    return tuple(module.branches[index] for index, _ in branch_order(module))


def test_the_maps_of_reduction_a() -> None:
    assert NPU.map_bytes((1, 288, 35, 35), 1).full == 364.5 * KB
    assert NPU.map_bytes((1, 384, 17, 17), 1).full == 150 * KB
    assert NPU.map_bytes((1, 384, 17, 17), 1).written == 12.5 * KB
    assert NPU.map_bytes((1, 288, 35, 35), 1).fetched == 364.5 * KB / 2
    assert NPU.working_bytes((1, 384, 33, 33), (2, 2), 1) == 486 * KB
    assert NPU.weight_bytes(384, 288 * 9) == 81 * KB
    assert replace(NPU, buffers=1).weight_bytes(384, 288 * 9) == 40.5 * KB
    assert NPU.working_bytes((1, 384, 33, 33), (1, 1), 1) == 0
    assert NPU.map_bytes((1, 2048, 1, 1), 1).full == NPU.map_bytes((1, 2048), 1).full == 2 * KB


@settings(max_examples=50, deadline=None)
@given(storages, shapes, st.integers(1, 4))
def test_partial_maps_are_parts(storage: Storage, shape: tuple[int, ...], element: int) -> None:
    size = storage.map_bytes(shape, element)
    frugal = storage.frugal().map_bytes(shape, element)
    dense = shape[1] * shape[2] * shape[3] * element
    assert dense <= size.full == frugal.full
    assert 0 < frugal.fetched <= size.fetched <= size.full
    assert 0 < frugal.written <= size.written <= size.full
    assert size.full % (shape[1] * element) == 0


@settings(max_examples=50, deadline=None)
@given(storages, st.integers(1, 100), st.integers(1, 100))
def test_partial_weights(storage: Storage, kernels: int, kernel_bytes: int) -> None:
    size = storage.weight_bytes(kernels, kernel_bytes)
    assert size <= kernels * kernel_bytes
    assert storage.frugal().weight_bytes(kernels, kernel_bytes) <= size
    assert (size == 0) == (storage.kernel_group == 0)


@st.composite
def modules(draw: st.DrawFn, depth: int = 2) -> Module:
    """A module of random layers; maps of 1 to 60 channels."""
    keys = count()

    def a_map(channels: int) -> FeatureMap:
        return FeatureMap(next(keys), NPU.map_bytes((1, channels, 8, 8), 1))

    def layer(source: FeatureMap, channels: int) -> Layer:
        working, weights = draw(st.integers(0, 2000)), draw(st.integers(0, 2000))
        return Layer("layer", (source,), a_map(channels), working, weights, parameters=5)

    def module(source: FeatureMap, channels: int, depth: int, merge: str) -> Module:
        branches: list[Branch] = []
        parts = 0
        for part in range(draw(st.integers(2, 4))):
            steps: list[Layer | Module] = []
            here = source
            for _ in range(draw(st.integers(0 if branches else 1, 3))):
                width = channels if merge == "add" else draw(sizes)
                if depth and draw(st.integers(0, 3)) == 0:
                    kind = "add" if merge == "add" else draw(st.sampled_from(["concat", "add"]))
                    start = layer(here, width)
                    steps.append(start)
                    steps.append(module(start.result, width, depth - 1, kind))
                else:
                    steps.append(layer(here, width))
                here = steps[-1].result
            if (
                merge == "add"
                and not steps
                and here.size.full != NPU.map_bytes((1, channels, 8, 8), 1).full
            ):
                steps.append(layer(here, channels))
                here = steps[-1].result
            branches.append(Branch(part, tuple(steps), here))
            parts += here.size.full // 64
        result = a_map(channels if merge == "add" else parts)
        made = "add" if merge == "add" else "concat"
        return Module("module", source, result, made, tuple(branches))

    return module(a_map(draw(sizes)), draw(sizes), depth, draw(st.sampled_from(["add", "concat"])))


def smallest(module: Module, options: str) -> int:
    """The smallest memory in which a module can be planned at all, by bisection."""
    low, high = 0, 2**22
    while high - low > 1:
        middle = (low + high) // 2
        try:
            plan_module(module, middle, "auto", "branch" if options == "branch" else "module")
        except Misfit:
            low = middle
        else:
            high = middle
    return high


@settings(max_examples=40, deadline=None)
@given(modules(), st.integers(0, 100), st.sampled_from(["module", "branch"]))
def test_plans_fit_and_policies_are_what_they_say(
    module: Module, percent: int, granularity: str
) -> None:
    least = smallest(module, granularity)
    capacity = least + percent * least // 50
    plan = plan_module(module, capacity, "auto", "branch" if granularity == "branch" else "module")
    assert peak_bytes(plan, capacity) <= capacity
    assert all(each.required <= each.available for each in plan.layers())
    assert len(list(plan.layers())) == len(list(module.layers()))
    if granularity == "module":
        assert plan.is_forwarded == (plan.policy == "I")
        assert (plan.policy == "I") == (left_off_chip(module, plan).size == 0)
    if plan.is_forwarded:
        traffic = planned_module(module, plan, None)
        assert traffic.feature_map_bytes == 0
    naive, planned = naive_module(module), planned_module(module, plan, None)
    assert planned.weight_bytes == naive.weight_bytes


@settings(max_examples=40, deadline=None)
@given(modules(), st.integers(0, 100))
def test_a_policy_for_each_branch_is_never_worse(module: Module, percent: int) -> None:
    least = smallest(module, "module")
    capacity = least + percent * least // 50
    whole = plan_module(module, capacity, "auto", "module")
    branch = plan_module(module, capacity, "auto", "branch")
    if whole.kept:
        assert spilled_bytes(module, branch) <= spilled_bytes(module, whole)
    assert peak_bytes(branch, capacity) <= capacity


@settings(max_examples=40, deadline=None)
@given(modules())
def test_the_first_policy_needs_its_peak(module: Module) -> None:
    peak = needed(module)
    assert plan_module(module, peak).is_forwarded
    try:
        plan = plan_module(module, peak - 1)
    except Misfit:
        return
    assert not plan.is_forwarded
    assert plan.policy == "II"


def needed(module: Module) -> int:
    """The bytes that policy I needs."""
    plan = process_module(module, "I", Room(LARGE).with_mifm(module.input))
    return peak_bytes(plan, LARGE)


@settings(max_examples=40, deadline=None)
@given(modules())
def test_branches_in_descending_order(module: Module) -> None:
    sorted_once = replace(module, branches=reordered(module))
    assert {branch.part for branch in sorted_once.branches} == {
        branch.part for branch in module.branches
    }
    assert reordered(sorted_once) == sorted_once.branches


def fits(module: Module, plan: ModulePlan, sram: Sram) -> None:
    regions = chain_regions([ChainedModule(module, plan)], sram)[0]
    for region in (regions.mifm, regions.mofm):
        if region is not None and region.offset is not None:
            assert region.offset % sram.alignment == 0
            assert 0 <= region.offset <= sram.capacity - region.size


@settings(max_examples=40, deadline=None)
@given(modules(), st.sampled_from([1, 16]))
def test_regions_lie_in_memory(module: Module, alignment: int) -> None:
    capacity = needed(module) + 16
    fits(module, plan_module(module, capacity), Sram(capacity, alignment))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_neighbours_of_a_chain_do_not_meet(chain: list[int]) -> None:
    offsets = place(chain, [None] * (len(chain) - 1), Sram(100, 1))
    assert None not in offsets
    spans = [(at, at + size) for at, size in zip(offsets, chain, strict=True) if at is not None]
    for (start, end), (other, last) in pairwise(spans):
        assert end <= other or last <= start


def a_map(key: int, channels: int) -> FeatureMap:
    return FeatureMap(key, NPU.map_bytes((1, channels, 8, 8), 1))


def two_branches(merge: str = "concat") -> Module:
    """A module with 4 channels in and 64 out of each branch, 4 KB each.

    One branch has 3 KB of working memory.
    """
    source, one, two = a_map(0, 4), a_map(1, 64), a_map(2, 64)
    result = a_map(3, 64 if merge == "add" else 128)
    first = Branch(0, (Layer("one", (source,), one, working=3 * KB),), one)
    second = Branch(1, (Layer("two", (source,), two),), two)
    return Module("m", source, result, "add" if merge == "add" else "concat", (first, second))


def test_runs_of_parts() -> None:
    module = two_branches()
    plan = plan_module(module, 6 * KB)
    assert plan.policy == "II"
    assert left_off_chip(module, plan) == OffChip(8 * KB, 1)
    assert planned_module(module, plan, None).feature_map_writes == 2


@pytest.mark.parametrize(("capacity", "writes", "reads"), [(9 * KB, 0, 0), (6 * KB, 2, 1)])
def test_a_sum_off_chip_is_read_back(capacity: int, writes: int, reads: int) -> None:
    module = two_branches("add")
    traffic = planned_module(module, plan_module(module, capacity), None)
    assert (traffic.feature_map_writes, traffic.feature_map_reads) == (writes, reads)
    assert naive_module(module).feature_map_reads == 4
    assert naive_module(module).feature_map_writes == 3


def test_a_sum_of_three_occupies_one_map() -> None:
    module = two_branches("add")
    source, three = module.input, a_map(4, 64)
    third = Branch(2, (Layer("three", (source,), three),), three)
    module = replace(module, branches=(*module.branches, third))
    plan = process_module(module, "I", Room(LARGE).with_mifm(source))
    assert [branch.occupied for branch in plan.branches] == [0, 4 * KB, 4 * KB]


def test_a_layer_that_does_not_fit_is_named() -> None:
    with pytest.raises(Misfit) as found:
        plan_module(two_branches(), KB)
    assert (found.value.layer, found.value.capacity) == ("one", KB)


def test_chains_end_where_a_map_leaves_the_chip() -> None:
    first, second = plan_module(two_branches(), 16 * KB), plan_module(two_branches(), 6 * KB)
    steps = [
        ChainedModule(two_branches(), first),
        ChainedModule(two_branches(), second, follows=True),
        ChainedModule(two_branches(), first, follows=True),
    ]
    assert [len(chain) for chain in chains(steps)] == [2, 1]


def test_what_has_left_the_chip_is_not_held() -> None:
    """A map that has left the chip takes no room until the layer runs that fetches it."""
    maps = [a_map(key, 16) for key in range(5)]  # 1 KB each
    steps = [Layer(f"l{i}", (maps[i],), maps[i + 1]) for i in range(3)]
    last = Layer("l3", (maps[3], maps[1]), maps[4])
    branch = Branch(0, (*steps, last), maps[4])
    room = Room(5 * KB // 2, on_chip=frozenset({maps[0]}))
    plans = attempt(branch, "I", room, frozenset({maps[1]}))
    assert [plan.forward for plan in plans] == [False, True, True, True]
    assert [plan.required for plan in plans if isinstance(plan, LayerPlan)][2] == 2 * KB


def test_a_view_is_written_where_the_result_leaves_the_chip() -> None:
    """The MIFM is itself the first part of the MOFM."""
    source, one, result = a_map(0, 16), a_map(1, 16), a_map(2, 32)
    branches = (Branch(0, (), source), Branch(1, (Layer("one", (source,), one),), one))
    module = Module("m", source, result, "concat", branches)
    assert plan_module(module, 64 * KB).policy == "I"
    assert planned_module(module, plan_module(module, 64 * KB), None).feature_map_writes == 0
    small = process_module(module, "II", Room(64 * KB))
    assert planned_module(module, small, None).feature_map_writes == 1  # it lies there already
