"""Strategy `modules`: maps lie at the offsets of their plan if that is possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import PassPipeline

from helpers.networks.zoo import build, image
from helpers.offset_problems import problems
from npu_dialect.attributes import TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.module_attributes import PLACE
from npu_dialect.sram import AllocOp
from npu_dialect.target import TargetAttr
from npu_passes.analysis.on_chip import size_of
from npu_passes.placing.module_places import map_of, places
from npu_plans.arena import greedy
from npu_plans.arena.modules import grant
from npu_plans.arena.placement import place
from npu_plans.arena.problem import Buffer, Problem, Solution, arena_of, check, pinned
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.compiling.remarks import remarks
from npu_tools.importers.onnx import import_model
from npu_tools.shared.installed import available_passes, context

PLAN = (
    "npu-fold-batch-norm,npu-fuse-conv-relu-pool{overlap=none},npu-detect-modules,"
    "npu-reorder-branches,npu-plan-modules{misfit=leave},npu-inline-modules"
)
BUFFERS = "npu-bufferize,npu-concat-in-place,npu-assign-sram-offsets{strategy=modules}"


def first_fit(problem: Problem) -> Solution:
    """Place buffers one by one around the pins, which is quicker than `greedy`."""
    plan = place(problem, list(range(len(problem.buffers))), pinned(problem), "first")
    offsets = tuple(plan[index] for index in range(len(problem.buffers)))
    return Solution(offsets, arena_of(problem, offsets))


@settings(max_examples=50, deadline=None)
@given(
    problem=problems(),
    wishes=st.dictionaries(st.integers(0, 13), st.integers(0, 200), max_size=5),
    capacity=st.integers(1, 400),
)
def test_wishes(problem: Problem, wishes: dict[int, int], capacity: int) -> None:
    """The plan is valid with all granted wishes; it fits if the plan without wishes fits."""
    wishes = {index: at for index, at in wishes.items() if index < len(problem.buffers)}
    granted = grant(problem, wishes, capacity, first_fit)
    solution = first_fit(granted.problem)
    assert check(granted.problem, solution) == ()
    for index, at in wishes.items():
        pin = granted.problem.buffers[index].pin
        assert pin == (problem.buffers[index].pin if index in granted.refused else at)
        assert bool(granted.refused.get(index)) == (index in granted.refused)
    if first_fit(problem).arena <= capacity:
        assert solution.arena <= capacity


def test_a_wish_beside_what_does_not_fit() -> None:
    """The second wish is in the way of a large buffer; the first buffer is dead by then."""
    problem = Problem(
        (Buffer("a", 10, 1, 0, 1), Buffer("b", 10, 1, 2, 3), Buffer("c", 90, 1, 2, 3))
    )
    granted = grant(problem, {0: 50, 1: 50}, 100, greedy.solve)
    assert [buffer.pin for buffer in granted.problem.buffers] == [50, None, None]
    assert granted.refused == {1: "with it there, other buffers would not fit into the memory"}


def inception(sram_bytes: int, passes: str) -> tuple[ModuleOp, NDArray[np.float32]]:
    """A small Inception after passes, for a machine with this SRAM; and an input."""
    model = build("inception_small", size=(15, 15))
    module = import_model(model.SerializeToString(), name="inception", base_dir=None)
    machine = replace(Machine.load("exynos-npu"), sram_bytes=sram_bytes)
    TARGET.set(module, TargetAttr.of(machine))
    PassPipeline(parse_passes(available_passes(), passes)).apply(context(), module)
    module.verify()
    return module, image(model, 1)


def written_at(module: ModuleOp) -> dict[str, tuple[int, int]]:
    """For each layer with `npu.place`: the offset of its map, and the planned one."""
    allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
    sizes: dict[SSAValue, int] = {op.results[0]: size_of(op, op.results[0].type) for op in allocs}
    found: dict[str, tuple[int, int]] = {}
    for layer, size, offset in places(module):
        at = map_of(layer, size, sizes)
        assert at is not None
        owner = at[0].owner
        assert isinstance(owner, AllocOp)
        assert owner.offset is not None
        found[layer.layer_name or ""] = (owner.offset.value.data + at[1], offset)
    return found


@pytest.mark.parametrize("sram_bytes", [34_000, 300_000])
def test_the_plan_of_an_inception(sram_bytes: int) -> None:
    """All MIFMs and MOFMs lie as planned, and the network computes the same."""
    module, source = inception(sram_bytes, f"{PLAN},{BUFFERS}")
    plain, _ = inception(sram_bytes, "npu-fold-batch-norm")
    found = written_at(module)
    assert len(found) > 10
    assert all(offset == wanted for offset, wanted in found.values())
    assert list(remarks(module)) == []
    (expected,) = run_function(plain, None, [source])
    (ours,) = run_function(module, None, [source])
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_a_place_that_cannot_be_is_a_remark() -> None:
    module, _ = inception(300_000, f"{PLAN},npu-bufferize,npu-concat-in-place")
    layer, size, _ = next(places(module))
    PLACE.set(layer, tuple([size, 300_000]))
    passes = "npu-assign-sram-offsets{strategy=modules}"
    PassPipeline(parse_passes(available_passes(), passes)).apply(context(), module)
    (said,) = remarks(module)
    assert said.startswith(f"{layer.layer_name}: not at the place of its module's plan: it would")
