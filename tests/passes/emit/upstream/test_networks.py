"""Networks through `npu-to-upstream` and LLVM's tools compute what our C computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import NETWORKS, TINY, build
from helpers.upstream import agree, compiled_both, needs_llvm
from npu_tools.verifying.upstream import verified

SMALL = ("lenet5", "cifar10", "resnet8", "ds_cnn", "mobilenet_v1")
"""Networks at their full size."""

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
@pytest.mark.parametrize(("target", "pipeline"), [("host", "default"), ("exynos-npu", "off-chip")])
@pytest.mark.parametrize("name", OTHERS)
def test_other_networks(name: str, target: str, pipeline: str, kind: str, tmp_path: Path) -> None:
    """All other networks of examples/networks, of small size, also off the chip."""
    both = compiled_both(saved(tmp_path, name, kind, **TINY[name]), target, pipeline)
    agree(both, tmp_path, exact=kind == "int8")


@pytest.mark.parametrize(
    "name", ["lenet5", *(pytest.param(name, marks=pytest.mark.slow) for name in SMALL[1:])]
)
def test_transfers(name: str, tmp_path: Path) -> None:
    """Transfers are calls, which the strict engine of npu_dma.h answers."""
    both = compiled_both(saved(tmp_path, name, "float", **TINY[name]), "exynos-npu", "off-chip")
    assert "@npu_transfer_read_4d_f32" in both.text
    agree(both, tmp_path, exact=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_transfers_of_memref(name: str, tmp_path: Path) -> None:
    """LLVM has no lowering of `memref.dma_start`, so mlir-opt only verifies these."""
    model = saved(tmp_path, name, "int8")
    options = {"transfers": "memref", "sram_space": 1}
    both = compiled_both(model, "exynos-npu", "off-chip", **options)
    assert "memref.dma_start" in verified(both.text)
