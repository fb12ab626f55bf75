"""Random ONNX networks on random machines with DMA and little memory.

Either the C fits, agrees with onnxruntime, and moves what the report says; or the message names the
bytes that are needed, and with these the network must compile.

By hand, 100 of them:
`NETWORKS=100 pytest -m "" -n auto tests/whole_road/test_off_chip_networks.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from onnx import ModelProto
from xdsl.utils.exceptions import DiagnosticException

from helpers.c_harness import run_c
from helpers.random_moves import random_moves
from helpers.random_onnx import Array, random_model, run
from helpers.road import c_files
from npu_dialect.interpreters import Counters
from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.compiling.driver import Compiled, Job, compile_model

NEEDED = re.compile(r"needs (\d+) bytes (?:of SRAM at least|on chip)")


def machine_text(random: Random, sram_bytes: int) -> str:
    """A machine with DMA, with maps in patches or without; half say how long things take."""
    numbers: dict[str, int | str] = {
        "sram_bytes": sram_bytes,
        "flash_bytes": 2**30,
        "dma_channels": random.choice((1, 2, 4)),
        "row_multiple": random.choice((1, 3, 4)),
        "column_multiple": random.choice((1, 2, 4)),
        "kernel_group": random.choice((0, 1, 5, 16)),
        "weight_buffers": random.choice((1, 2)),
        "alignment": random.choice((1, 4, 16, 64)),
    }
    if random.randrange(2):
        numbers |= {
            "macs_per_cycle": random.choice(("{ f32 = 0.5 }", "{ f32 = 16 }")),
            "sram_bytes_per_cycle": random.choice((4, 64)),
            "dma_bytes_per_cycle": random.choice((1, 16)),
            "dma_setup_cycles": random.choice((4, 100)),
            "dma_jump_cycles": random.choice((1, 16)),
            "clock_hz": 10**6,
        }
    return 'name = "random"\n' + "".join(f"{key} = {value}\n" for key, value in numbers.items())


def compiled_in(folder: Path, seed: int, sram_bytes: int) -> Compiled:
    """Compile the network; while it does not fit, again with the bytes that the message names."""
    pipeline = Random(seed).choice(("default", "tails"))
    for _ in range(5):
        (folder / "machine.toml").write_text(machine_text(Random(seed), sram_bytes))
        job = Job(folder / "net.onnx", str(folder / "machine.toml"), pipeline=pipeline)
        try:
            return compile_model(job)
        except DiagnosticException as error:
            needed = NEEDED.search(str(error))
            if needed is None or int(needed[1]) <= sram_bytes:
                raise
            sram_bytes = int(needed[1])
    raise AssertionError("what the messages ask for is not enough")


SEEDS = range(int(os.environ.get("NETWORKS", "4")))
QUICK = (2,)
"""Seeds of small networks."""


@pytest.mark.parametrize(
    "seed",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SEEDS],
)
def test_random_network(seed: int, tmp_path: Path) -> None:
    travel(tmp_path, *random_model(seed), seed)


@pytest.mark.parametrize(
    "seed",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SEEDS],
)
def test_random_moves(seed: int, tmp_path: Path) -> None:
    """Networks that move elements: views of maps off the chip, copies in tiles."""
    travel(tmp_path, *random_moves(seed), seed)


def travel(tmp_path: Path, model: ModelProto, feeds: Mapping[str, Array], seed: int) -> None:
    """Compile for a random machine, run, and compare numbers and counts."""
    wanted = run(model, dict(feeds))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    found = compiled_in(tmp_path, seed, int(2 ** Random(seed).uniform(8, 13)))
    memory, counted = found.report.memory, Counters()
    assert memory.sram_bytes is not None
    assert memory.arena_bytes <= memory.sram_bytes
    inputs = [feeds[name] for name in found.report.inputs]
    got = run_c(c_files(found), "net", inputs, [v.shape for v in wanted], counters=counted)
    for one, other in zip(got, wanted, strict=True):
        assert relative_error(one, other) <= RELATIVE
    reported = vars(found.report.off_chip)
    assert {key: vars(counted)[key] for key in reported} == reported
