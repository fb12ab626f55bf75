"""What `npu-compile --pareto` estimates for int8 networks, beside the emulated Cortex-M4."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.networks.int8 import saved_int8
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_tools.compiling.driver import Job, compile_model, prepare
from npu_tools.compiling.pareto import plan_of
from npu_tools.importers.frontends import load
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import Interface, run_on

OFF = {"ds_cnn": 0.03}
"""How far off a network may be that is off by more than 2 %."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "options"),
    [
        *((name, {}) for name in ("lenet5", "cifar10", "resnet8", "ds_cnn")),
        ("mobilenet_v1", {"width": 1 / 4, "size": (48, 48)}),
    ],
)
def test_the_estimate_of_int8_plans(network: str, options: dict[str, Any], tmp_path: Path) -> None:
    """How much more a plan costs than `default`: within 2 % of the emulated Cortex-M4."""
    job = Job(saved_int8(tmp_path, network, **options), "cortex-m4", io="int8")
    machine, found = Machine.load("cortex-m4"), list[tuple[float, int]]()
    for pipeline, streamed in product(("default", "rows"), (False, True)):
        plan = replace(job, pipeline=pipeline, stream_input=streamed)
        module = load(plan.model, {}).module
        TARGET.set(module, TargetAttr.of(machine))
        prepare(module, plan)
        compiled = compile_model(plan)
        write_files(tmp_path, compiled.files)
        source = tmp_path / f"{compiled.name}.c"
        feeds = {
            each.name: np.random.default_rng(1).integers(-128, 128, each.elements)
            for each in Interface.read(source.with_suffix(".h")).inputs
        }
        (run,) = run_on("cortex-m4", source, [feeds]).runs
        found.append((plan_of(module, plan, machine).cost, run.instructions))
    first_cost, first = found[0]
    for cost, instructions in found:
        assert cost / first_cost == pytest.approx(instructions / first, rel=OFF.get(network, 0.02))
