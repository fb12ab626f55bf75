"""Rows in functions of their own: the same bits, and analyses that see the same loops."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import DSP, lowered, placed, same
from helpers.kernel_slices import SliceMaker
from helpers.pipeline import context, run_passes
from helpers.program_runs import check_board, check_host
from helpers.quantized.build import Array
from npu_dialect.interpreters import run_function
from npu_dialect.walking import walk_kind
from npu_passes.analysis.constant_reads import constant_reads
from npu_passes.analysis.loop_work import work_of
from npu_passes.lowering.estimate_instructions import costs_for, estimated
from npu_tools.compiling.check import random_inputs


def program(seed: int, kind: type[ChainMaker]) -> tuple[ModuleOp, list[Array], list[Array]]:
    """Loops of several networks in one function, with inputs and expected outputs."""
    module = kind(Random(seed)).network(6)
    module.verify()
    inputs = random_inputs(module, seed)
    loops = lowered(placed(module, concat=True), DSP)
    return loops, inputs, list(run_function(module, None, inputs))


def outlined(loops: ModuleOp) -> ModuleOp:
    """A copy of a program with its rows in functions; some must have been moved."""
    found = run_passes(context(), loops.clone(), "npu-outline-rows")
    names = [call.callee.string_value() for call in walk_kind(found, CallOp)]
    assert any("_rows" in name for name in names)
    assert any("_border" in name for name in names)
    return found


@pytest.mark.parametrize(("kind", "seed"), [(ChainMaker, 3), (SliceMaker, 11)])
def test_interpreter_and_analyses(kind: type[ChainMaker], seed: int) -> None:
    """What counts loops finds the same as before."""
    loops, inputs, wanted = program(seed, kind)
    found = outlined(loops)
    same(list(run_function(found, None, inputs)), wanted, kind)
    assert work_of(found) == work_of(loops)
    assert constant_reads(found) == constant_reads(loops)
    costs = costs_for(loops)
    assert costs is not None
    before, after = estimated(loops, costs), estimated(found, costs)
    assert list(after.layers.values()) == list(before.layers.values())
    assert after.total == before.total
    assert list(after.layers) == [call for call in walk_kind(found, CallOp) if call in after.layers]


@pytest.mark.parametrize(
    ("kind", "seed"), [(SliceMaker, 14), pytest.param(ChainMaker, 7, marks=pytest.mark.slow)]
)
def test_host(kind: type[ChainMaker], seed: int) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    loops, inputs, wanted = program(seed, kind)
    check_host(outlined(loops), inputs, wanted, kind)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [(ChainMaker, 8), (SliceMaker, 15)])
def test_machine(kind: type[ChainMaker], seed: int, tmp_path: Path) -> None:
    """The same programs on an emulated Cortex-M4."""
    loops, inputs, wanted = program(seed, kind)
    check_board(DSP.machine, outlined(loops), inputs, wanted, tmp_path)
