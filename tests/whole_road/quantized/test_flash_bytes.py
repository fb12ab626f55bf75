"""--flash-bytes: constants within a limit, the same integers, and instructions in between."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.c_harness import run_c
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from helpers.road import c_files
from npu_dialect.interpreters import run_function
from npu_tools.compiling.check import random_inputs
from npu_tools.compiling.driver import Compiled, Job, compile_model, prepare
from npu_tools.importers.frontends import load
from npu_tools.shared.errors import UserError


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("flash")
    model = saved_int8(folder, "resnet8", **TINY["resnet8"])
    return Job(model, "cortex-m4", io="int8", instructions=True)


def stored(compiled: Compiled) -> int:
    assert compiled.report.stored_bytes is not None
    return compiled.report.stored_bytes


def instructions(compiled: Compiled) -> int:
    assert compiled.report.instructions is not None
    return compiled.report.instructions.total


def on_the_host(compiled: Compiled, image: NDArray[Any], want: NDArray[Any]) -> NDArray[Any]:
    types = [want.dtype.name]
    return run_c(c_files(compiled), compiled.name, [image], [want.shape], output_types=types)[0]


@pytest.mark.slow
def test_layers_share_the_flash(job: Job) -> None:
    fast = compile_model(replace(job, flash="fast"))
    small = compile_model(replace(job, flash="small"))
    limit = (stored(fast) + stored(small)) // 2
    some = compile_model(replace(job, flash_bytes=limit))
    assert stored(small) < stored(some) <= limit < stored(fast)
    assert instructions(fast) < instructions(some) < instructions(small)
    module = load(job.model, {}).module
    prepare(module, job)
    (image,) = random_inputs(module, seed=3)
    (want,) = run_function(module, None, [image])
    for compiled in (fast, small, some):
        np.testing.assert_array_equal(on_the_host(compiled, image, want), want)


def test_the_machine_has_the_limit(job: Job, tmp_path: Path) -> None:
    fast = compile_model(replace(job, flash="fast"))
    machine = tmp_path / "mine.toml"
    text = f'name = "mine"\nsram_bytes = 65536\nflash_bytes = {stored(fast) - 1}\n'
    machine.write_text(f'{text}features = ["dsp"]\n')
    mine = replace(job, target=str(machine))
    assert stored(compile_model(mine)) < stored(fast)
    with pytest.raises(UserError, match=f"{stored(fast)} bytes of flash needed for the weights"):
        compile_model(replace(mine, flash="fast"))


def test_too_little_flash(job: Job) -> None:
    with pytest.raises(UserError, match="1000 allowed: expected a larger --flash-bytes, or --flas"):
        compile_model(replace(job, flash_bytes=1000))


@pytest.mark.slow
def test_kernels_with_a_working_memory_give_way(tmp_path: Path) -> None:
    """The choice by layers reaches what small layers reach, and what lies in between."""
    model = saved_int8(tmp_path, "mobilenet_v1", **TINY["mobilenet_v1"])
    job = Job(model, "cortex-m4", io="int8")
    small = compile_model(replace(job, flash="small"))
    assert stored(compile_model(replace(job, flash_bytes=stored(small)))) == stored(small)
    some = compile_model(replace(job, flash_bytes=stored(small) + 256))
    assert 0 < stored(some) - stored(small) <= 256
    assert small.report.scratch_bytes < some.report.scratch_bytes
    with pytest.raises(UserError, match=f"{stored(small)} bytes of flash needed"):
        compile_model(replace(job, flash_bytes=stored(small) - 1))
    module = load(job.model, {}).module
    prepare(module, job)
    (image,) = random_inputs(module, seed=3)
    (want,) = run_function(module, None, [image])
    np.testing.assert_array_equal(on_the_host(some, image, want), want)
