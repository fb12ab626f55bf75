"""Named pipelines on a machine with a PL-330: each that has transfers ends with microcode."""

from __future__ import annotations

import json
import struct
from importlib import import_module
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.paths import LENET5_FOLDER
from helpers.pl330.network import build, run
from helpers.pl330.zynq import Zynq
from helpers.zero_blocks.spilling import BLOCKS
from helpers.zero_blocks.spilling import files as network_files
from npu_dialect.machine import Machine
from npu_passes.pipelines import MICROCODE, PIPELINES, pipeline_for
from npu_tools.commands import compile

TRANSFERS = ("default", "off-chip", "tails", "zero-blocks")


@pytest.mark.parametrize("pipeline", TRANSFERS)
def test_microcode(tmp_path: Path, pipeline: str) -> None:
    model = str(LENET5_FOLDER / "lenet5.onnx")
    options = ["--target", "zynq7020", "--prefix", "net", "-o", str(tmp_path)]
    assert compile.main([model, *options, "--pipeline", pipeline]) == 0
    assert len(json.loads((tmp_path / "report.json").read_text())["microcode"]) > 5
    assert "net_programs" in (tmp_path / "net_pl330.c").read_text()
    assert not (tmp_path / "npu_pl330_blocks.c").exists()


def test_others() -> None:
    """Pipelines without transfers, texts, and other machines stay as they are."""
    zynq, npu, mcu = map(Machine.load, ("zynq7020", "exynos-npu", "cortex-m4"))
    with_microcode = {name for name in PIPELINES if MICROCODE in pipeline_for(name, zynq)}
    assert with_microcode == set(TRANSFERS)
    for machine in (npu, mcu):
        assert not any(MICROCODE in pipeline_for(name, machine) for name in PIPELINES)
    assert pipeline_for("default", npu) == "off-chip"
    assert pipeline_for("npu-tile-loops", zynq) == "npu-tile-loops"


@pytest.mark.slow
def test_blocks_on_the_core(zynq: Zynq, tmp_path: Path) -> None:
    """Maps in blocks move by the core, all else by microcode; the counters add both up."""
    network, _ = network_files(tmp_path)
    machine = resources("npu_dialect.targets") / "zynq7020.toml"
    text = machine.read_text(encoding="utf-8").replace("sram_bytes = 262144", "sram_bytes = 12288")
    (tmp_path / "small.toml").write_text(text.replace('"zynq7020"', '"small"'))
    options = ["--target", str(tmp_path / "small.toml"), "--prefix", "net", "-o", str(tmp_path)]
    assert compile.main([network, *options, "--pipeline", f"{BLOCKS},{MICROCODE}"]) == 0
    assert "npu_dma_start_blocks" in (tmp_path / "net.c").read_text()
    image = np.random.default_rng(3).standard_normal((1, 2, 20, 22)).astype(np.float32)
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(network, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": image})[0]
    elf = build(tmp_path, expected.nbytes, "-mno-unaligned-access")
    data = run(zynq, elf, image, tmp_path)
    returned, errors, transfers, *moved = struct.unpack_from("<6I", data)
    assert (returned, errors) == (0, 0)
    assert transfers > 10
    assert min(moved) > 0
    found = np.frombuffer(data[24:], "<f4")
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-5, atol=1e-5)
