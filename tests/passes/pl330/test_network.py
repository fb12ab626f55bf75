"""A network in tiles, double buffered, on an emulated Zynq: the PL-330 does all of its transfers.

The network is the first part of FlowNet-S at a lower resolution: three convolutions with strides
and halos, whose maps and weights are larger than the 256 KB on the chip. On whole numbers, sums are
exact in any order, so the output must equal that of the layers in numpy, bit for bit.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from helpers.paths import LENET5_FOLDER
from helpers.pl330.network import (
    SIZE,
    TILES,
    TRACE,
    build,
    crossings,
    network,
    run,
    through,
    write_c,
)
from helpers.pl330.zynq import Zynq
from npu_dialect.attributes import PROGRAM, TARGET
from npu_dialect.dma import StartOp
from npu_dialect.interpreters import Counters, run_function
from npu_dialect.machine import Machine
from npu_dialect.pl330 import ProgramOp
from npu_dialect.target import TargetAttr
from npu_passes.pipelines import PIPELINES
from npu_tools.shared.installed import context

EXAMPLE = LENET5_FOLDER


def run_counted(
    module: ModuleOp, image: Sequence[NDArray[np.float32]]
) -> tuple[NDArray[np.float32], Counters]:
    """The output in the interpreter, and its counters."""
    counters = Counters()
    (maps,) = run_function(module, "net", image, counters)
    return maps, counters


@pytest.mark.slow
def test_front_of_flownet(zynq: Zynq, tmp_path: Path) -> None:
    module = Parser(context(), network()).parse_module()
    image = np.random.default_rng(1).integers(-2, 3, (1, 6, *SIZE)).astype(np.float32)
    expected, _ = run_counted(module, [image])
    assert np.abs(expected).max() < 2**22
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    to_buffers, outline, to_loops = PIPELINES["off-chip"].text.partition("npu-outline-layers")
    through(module, to_buffers.rstrip(","))
    maps, counters = run_counted(module, [image])
    np.testing.assert_array_equal(maps, expected)
    through(module, f"{outline}{to_loops},npu-lower-dma-to-pl330,pl330-check")
    write_c(module, tmp_path)
    starts = [op for op in module.walk() if isinstance(op, StartOp)]
    assert starts
    assert all(PROGRAM.is_on(op) for op in starts)
    data = run(zynq, build(tmp_path, expected.nbytes), image, tmp_path, *TRACE)
    bursts, crossing = crossings((tmp_path / "bursts.log").read_text())
    assert bursts > 3000
    assert crossing == 0
    returned, errors, transfers, *moved = struct.unpack_from("<6I", data)
    assert (returned, errors) == (0, 0)
    np.testing.assert_array_equal(np.frombuffer(data[24:], "<f4"), expected.ravel())
    assert transfers == counters.transfers > len(starts)
    assert moved == [
        counters.weight_bytes,
        counters.feature_map_read_bytes,
        counters.feature_map_write_bytes,
    ]
    assert sum(moved) > 2 * Machine.load("zynq7020").sram_bytes


@pytest.mark.slow
def test_sums_that_are_read_back(zynq: Zynq, tmp_path: Path) -> None:
    """In the paper's order, sums are read back. The four kinds of transfers have a channel each."""
    size = (12, 16)
    module = Parser(context(), network([(8, 24, 3)], size)).parse_module()
    image = np.random.default_rng(2).integers(-2, 3, (1, 8, *size)).astype(np.float32)
    expected, _ = run_counted(module, [image])
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    passes = PIPELINES["off-chip"].text.replace(TILES, f"{TILES}{{tile-sizes=6,8,2,8}}")
    through(module, f"{passes},npu-lower-dma-to-pl330,pl330-check")
    programs = [op for op in module.walk() if isinstance(op, ProgramOp)]
    channels = [op.channel.value.data for op in programs if op.channel is not None]
    assert set(channels) == {0, 1, 2, 3}
    write_c(module, tmp_path)
    data = run(zynq, build(tmp_path, expected.nbytes), image, tmp_path)
    assert struct.unpack_from("<2I", data) == (0, 0)
    np.testing.assert_array_equal(np.frombuffer(data[24:], "<f4"), expected.ravel())


@pytest.mark.parametrize("offset", [0, pytest.param(1072, marks=pytest.mark.slow)])
def test_lenet5_from_npu_compile(zynq: Zynq, tmp_path: Path, offset: int) -> None:
    """As a user does it: npu-compile, then the C compiler, then the board; wherever memory lies."""
    model = EXAMPLE / "lenet5.onnx"
    command = [
        sys.executable,
        "-m",
        "npu_tools.commands.compile",
        str(model),
        "--target",
        "zynq7020",
    ]
    command += ["--prefix", "net", "-o", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    microcode = json.loads(done.stdout)["microcode"]
    assert {each["channel"] for each in microcode} == {0, 1, 3}
    assert all(0 < each["bytes"] <= each["template_bytes"] for each in microcode)
    with np.load(EXAMPLE / "heldout.npz") as held:
        grey: NDArray[np.uint8] = held["images"][:1]
    cut = np.where(grey < 100, 0, grey).astype(np.float32) / np.float32(255)
    image = cut.reshape(1, 1, 32, 32)
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    expected: NDArray[np.float32] = session.run(None, {"image": image})[0]
    elf = build(tmp_path, expected.nbytes, f"-DOFFSET={offset}")
    data = run(zynq, elf, image, tmp_path, *TRACE)
    returned, errors, transfers = struct.unpack_from("<3I", data)
    assert (returned, errors) == (0, 0)
    assert transfers >= len(microcode)
    bursts, crossing = crossings((tmp_path / "bursts.log").read_text())
    assert bursts > 3000
    assert crossing == 0
    np.testing.assert_allclose(
        np.frombuffer(data[24:], "<f4"), expected.ravel(), rtol=1e-5, atol=1e-5
    )
