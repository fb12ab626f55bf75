"""Every plan of the int8 networks on emulated boards, one of them with 16 KB of RAM.

The integers must be those of the interpreter, which runs the layers of the model as they are, and
within a few steps of onnxruntime.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.c_harness import run_c
from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from helpers.quantized.build import onnxruntime_says
from helpers.road import c_files
from helpers.streams import built
from npu_dialect.interpreters import run_function
from npu_tools.compiling.check import random_inputs
from npu_tools.compiling.driver import Compiled, Job, compile_model, prepare
from npu_tools.importers.frontends import load
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.ports import ports_of

STEPS = 4
"""How far an output may be from that of onnxruntime, which multiplies by float32 scales."""
STACK = 1024
"""Bytes of RAM beside the arena; the linker refuses a program for which they are not there."""


@dataclass(frozen=True)
class Plan:
    """A network of `examples/networks`, how it is compiled, and the bytes of arena to expect."""

    board: str
    network: str
    pipeline: str
    streamed: bool = False
    arena: int | None = None

    def __str__(self) -> str:
        words = [self.board, self.network, self.pipeline, "streamed" if self.streamed else ""]
        return " ".join(word for word in words if word)


QUICK = (
    Plan("fe310", "resnet8", "rows"),
    Plan("fe310", "ds_cnn", "rows", streamed=True),
)
"""Plans of small versions of networks."""

FULL = (
    Plan("fe310", "lenet5", "default", arena=1340),
    Plan("fe310", "lenet5", "rows", arena=1228),
    Plan("fe310", "lenet5", "default", streamed=True, arena=1372),
    Plan("fe310", "lenet5", "rows", streamed=True, arena=1020),
    Plan("fe310", "cifar10", "default", arena=5760),
    Plan("fe310", "cifar10", "rows", arena=5472),
    Plan("fe310", "cifar10", "default", streamed=True, arena=4420),
    Plan("fe310", "cifar10", "rows", streamed=True, arena=4420),
    Plan("fe310", "resnet8", "rows", arena=14336),
    Plan("fe310", "resnet8", "default", streamed=True, arena=14340),
    Plan("fe310", "resnet8", "rows", streamed=True, arena=14340),
    Plan("fe310", "ds_cnn", "default", arena=8448),
    Plan("fe310", "ds_cnn", "rows", arena=8448),
    Plan("fe310", "ds_cnn", "default", streamed=True, arena=8452),
    Plan("fe310", "ds_cnn", "rows", streamed=True, arena=8452),
    Plan("fe310", "mobilenet_v1", "rows", streamed=True, arena=13588),
    *(
        Plan("cortex-m4", network, pipeline, streamed)
        for network in ("lenet5", "cifar10", "resnet8", "ds_cnn", "mobilenet_v1")
        for pipeline, streamed in (("default", False), ("rows", False), ("rows", True))
        if (network, pipeline, streamed) != ("mobilenet_v1", "rows", False)
    ),
    *(
        Plan("cortex-m55", network, "default")
        for network in ("lenet5", "cifar10", "resnet8", "ds_cnn", "mobilenet_v1")
    ),
)
"""Plans that fit into the RAM of a board; for the FE310 all of them."""


def executed(plan: Plan, folder: Path, **options: Any) -> None:
    """Quantise, compile, run on the board and under sanitizers, and compare."""
    require(plan.board)
    model = saved_int8(folder, plan.network, **options)
    job = Job(
        model,
        plan.board,
        io="int8",
        requantize="fixed",
        pipeline=plan.pipeline,
        stream_input=plan.streamed,
    )
    image, want = wanted(job)
    compiled = compile_model(job)
    if plan.arena is not None:
        assert compiled.report.arena_bytes == plan.arena
    source = folder / f"{compiled.name}.c"
    write_files(folder, compiled.files)
    rows = image.transpose(0, 2, 1, 3) if plan.streamed else image
    result = run_on(plan.board, source, [{"image": rows}], stack_bytes=STACK)
    np.testing.assert_array_equal(result.runs[0].outputs["output"], want.ravel())
    np.testing.assert_array_equal(on_the_host(compiled, image, want, plan.streamed), want)
    near_onnxruntime(compiled, image, want)


def on_the_host(
    compiled: Compiled, image: NDArray[Any], want: NDArray[Any], streamed: bool
) -> NDArray[Any]:
    """What the same C computes under sanitizers, between poisoned fences; rows one by one."""
    files = c_files(compiled)
    if streamed:
        with built(files, image, want) as program:
            return program.run(image, [1] * image.shape[2])
    types = [want.dtype.name]
    return run_c(files, compiled.name, [image], [want.shape], output_types=types)[0]


def wanted(job: Job) -> tuple[NDArray[Any], NDArray[Any]]:
    """A random input in integers, and what the interpreter makes of it."""
    module = load(job.model, {}).module
    prepare(module, job)
    (image,) = random_inputs(module, seed=3)
    (want,) = run_function(module, None, [image])
    return image, want


def near_onnxruntime(compiled: Compiled, image: NDArray[Any], got: NDArray[Any]) -> None:
    """Check that onnxruntime's result is a few steps away at most, and not the same everywhere."""
    header = str(compiled.files[f"{compiled.name}.h"])
    source, target = ports_of(header, 2)
    theirs = target.stored(onnxruntime_says(compiled.reference, {"image": source.real(image)}))
    assert len(np.unique(theirs)) > 1
    assert np.abs(theirs.astype(int) - got.astype(int)).max() <= STEPS


@pytest.mark.slow
@pytest.mark.parametrize("plan", QUICK, ids=str)
def test_small_networks(plan: Plan, tmp_path: Path) -> None:
    executed(plan, tmp_path, **TINY[plan.network])


@pytest.mark.slow
@pytest.mark.parametrize("plan", FULL, ids=str)
def test_whole_networks(plan: Plan, tmp_path: Path) -> None:
    executed(plan, tmp_path)
