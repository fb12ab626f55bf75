"""Networks through `npu-to-upstream` and LLVM's tools compute what our C computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

from helpers.c_harness import run_c
from helpers.memref_engine import with_engine
from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import NETWORKS, TINY, build
from helpers.paths import ROOT
from helpers.upstream import agree, compiled_both, needs_llvm
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.emit.c import CFiles
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_passes.pipelines import PIPELINES
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_tools.compiling.printer import ir_text
from npu_tools.shared.installed import context
from npu_tools.verifying.upstream import build_object, verified
from npu_tools.verifying.upstream_adapter import adapter

SMALL = ("lenet5", "cifar10", "resnet8", "ds_cnn", "mobilenet_v1")
"""Networks at their full size."""

OFF_CHIP = (*SMALL[1:], "efficientnet", "inception_small", "resnet18", "squeezenet1_1", "xception")
"""Networks that are also compiled for a machine with DMA, of small size."""

OTHERS = tuple(name for name in NETWORKS if name not in SMALL)


@pytest.fixture(autouse=True)
def llvm() -> None:
    """All tests here need LLVM's tools."""
    needs_llvm()


def saved(folder: Path, name: str, kind: str, **options: object) -> Path:
    """The file of a network with numbers of a kind."""
    if kind == "int8":
        return saved_int8(folder, name, **options)
    path = folder / f"{name}.onnx"
    path.write_bytes(build(name, **options).SerializeToString())
    return path


@pytest.mark.parametrize("kind", ["float", "int8"])
def test_lenet5(kind: str, tmp_path: Path) -> None:
    both = compiled_both(saved(tmp_path, "lenet5", kind), "host")
    agree(both, tmp_path, exact=kind == "int8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "int8"])
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
@pytest.mark.parametrize("name", SMALL)
def test_small_networks(name: str, target: str, kind: str, tmp_path: Path) -> None:
    both = compiled_both(saved(tmp_path, name, kind), target)
    agree(both, tmp_path, exact=kind == "int8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "int8"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_networks(name: str, kind: str, tmp_path: Path) -> None:
    """All other networks of examples/networks, of small size."""
    both = compiled_both(saved(tmp_path, name, kind, **TINY[name]), "host")
    agree(both, tmp_path, exact=kind == "int8")


@pytest.mark.parametrize(
    "name", ["lenet5", *(pytest.param(name, marks=pytest.mark.slow) for name in OFF_CHIP)]
)
def test_transfers(name: str, tmp_path: Path) -> None:
    """Transfers are calls, which the strict engine of npu_dma.h answers."""
    both = compiled_both(saved(tmp_path, name, "float", **TINY[name]), "exynos-npu", "off-chip")
    assert "@npu_transfer_read_4d_f32" in both.text
    agree(both, tmp_path, exact=False)


def test_linalg(tmp_path: Path) -> None:
    """Ops of linalg that nothing lowers before are left to mlir-opt."""
    path = ROOT / "lit-tests" / "passes" / "emit" / "to_upstream" / "linalg.mlir"
    module = Parser(context(), path.read_text(encoding="utf-8")).parse_module()
    for step in (BufferizePass(), AssignSramOffsetsPass(), ToUpstreamPass()):
        step.apply(context(), module)
    build_object(ir_text(module), ["network"], tmp_path / "network.o")
    header = "#define NET_ARENA_BYTES 96\nint net_run(const float *x, float *y, void *arena);\n"
    files = CFiles(adapter(module, "net", header), header, None, None, 96, "net")
    x = np.arange(16, dtype=np.float32)[np.newaxis]
    flags = ("-x", "none", str(tmp_path / "network.o"), "-x", "c")
    (found,) = run_c(files, "net", [x], [(1, 8)], sanitize=False, flags=flags)
    np.testing.assert_array_equal(found, np.full((1, 8), 0.5 * x.sum() + 1))


@pytest.mark.parametrize(
    "name", ["lenet5", *(pytest.param(name, marks=pytest.mark.slow) for name in SMALL[1:])]
)
def test_transfers_of_memref(name: str, tmp_path: Path) -> None:
    """LLVM has no lowering of `memref.dma_start`, so a small back end stands in for one.

    It has no token, so no loop may carry one: loads start one step ahead at most.
    """
    model = saved(tmp_path, name, "int8")
    options = {"transfers": "memref", "sram_space": 1}
    pipeline = PIPELINES["off-chip"].text.replace("double-buffer", "double-buffer{ahead=1}")
    both = compiled_both(model, "exynos-npu", pipeline, **options)
    assert "memref.dma_start" in verified(both.text)
    agree(with_engine(both), tmp_path, exact=True)
