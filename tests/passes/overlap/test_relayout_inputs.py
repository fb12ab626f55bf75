"""Inputs in another layout: random networks give the same results, in no larger arena."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import same
from helpers.pipeline import context, run_passes
from npu_dialect.attributes import ARENA
from npu_dialect.interpreters import run_function
from npu_passes.pipelines import PIPELINES
from npu_tools.compiling.check import random_inputs

PASS = "npu-relayout-inputs"
BEFORE, BEHIND = PIPELINES["default"].text.split(f",{PASS},")


def network(random: Random) -> ModuleOp:
    """A network whose input has four channels or more."""
    maker = ChainMaker(random)
    shape = random.choice((1, 1, 2)), random.choice((4, 5, 8, 24))
    x = maker.argument(maker.integer(), (*shape, random.randint(1, 8), random.randint(1, 9)))
    for _ in range(random.randint(1, 2)):
        x = maker.layer(x)
    return maker.finished(x)


def arena(module: ModuleOp) -> int:
    """The bytes of the arena of a program."""
    return max(ARENA.get(op) or 0 for op in module.ops if isinstance(op, FuncOp))


def both(module: ModuleOp, machine: str) -> tuple[ModuleOp, ModuleOp] | None:
    """The loops of a network without and with the pass; None if it changes nothing."""
    start = run_passes(context(), module, f"npu-attach-target{{target={machine}}},{BEFORE}")
    changed = run_passes(context(), start, PASS)
    if str(start) == str(changed):
        return None
    return run_passes(context(), start, BEHIND), run_passes(context(), changed, BEHIND)


def check(module: ModuleOp, machine: str) -> bool:
    """Check the results and the arena of a network; returns whether the pass changes it.

    At the memory peak an output may lie some pixels farther from its input.
    """
    found = both(module, machine)
    if found is None:
        return False
    before, now = found
    wanted = run_function(module, None, random_inputs(module, 5))
    same(run_function(now, None, random_inputs(module, 5)), wanted, machine)
    assert arena(now) <= 1.05 * arena(before)
    return True


@pytest.mark.parametrize("machine", ["cortex-m4", "cortex-m55"])
def test_networks_that_change(machine: str) -> None:
    assert sum(check(network(Random(seed)), machine) for seed in range(10)) > 1


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(("cortex-m4", "cortex-m55")))
def test_random_networks(seed: int, machine: str) -> None:
    check(network(Random(seed)), machine)
