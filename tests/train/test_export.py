"""Exported networks: onnxruntime, the importer and torch agree; a Zebra module is one layer."""

# pyright: reportUnknownMemberType=false
# Methods of torch have incomplete types.

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from helpers.paths import ROOT
from npu_dialect.interpreters import run_function
from npu_dialect.npu import PruneZeroBlocksOp
from npu_tools.importers.onnx import import_file
from npu_tools.shared.errors import UserError
from npu_train.export import export
from npu_train.models import NETWORKS, ZebraOptions, build
from npu_train.pruning import prune_weights
from npu_train.shrink import shrink
from npu_train.slimming import prune_channels
from npu_train.zebra import zebras

onnxruntime: Any = pytest.importorskip("onnxruntime")


def network(name: str, size: int, zebra: ZebraOptions | None) -> nn.Module:
    """A network after one batch, which sets the statistics of batch norms."""
    torch.manual_seed(0)
    model = build(name, classes=4, channels=2, size=size, width=0.0625, zebra=zebra)
    with torch.no_grad():
        for _ in range(3):
            model(torch.rand(8, 2, size, size))
    return model


def check(model: nn.Module, path: Path, size: int) -> list[PruneZeroBlocksOp]:
    """Export, compare, and find the layers that prune."""
    export(model, path, 2, size)
    x = torch.rand(1, 2, size, size)
    with torch.no_grad():
        expected = model.eval()(x).numpy()
    (theirs,) = onnxruntime.InferenceSession(path).run(["output"], {"input": x.numpy()})
    np.testing.assert_allclose(theirs, expected, rtol=1e-4, atol=1e-5)
    module = import_file(path)
    (ours,) = run_function(module, None, [x.numpy()])
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
    return [op for op in module.walk() if isinstance(op, PruneZeroBlocksOp)]


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "resnet56"])
def test_networks(name: str, tmp_path: Path) -> None:
    size = 9 if name == "resnet18" else 8  # 9: blocks that are cut off
    model = network(name, size, ZebraOptions(4, 0.3))
    ops = check(model, tmp_path / "net.onnx", size)
    assert [(op.size, op.threshold.value.data) for op in ops] == [
        (zebra.block, pytest.approx(0.3)) for zebra in zebras(model)
    ]


def test_shrunk_network(tmp_path: Path) -> None:
    model = network("resnet18", 8, ZebraOptions(2, 0.1))
    prune_channels(model, 0.5)
    small = shrink(model, torch.rand(1, 2, 8, 8))
    assert len(check(small, tmp_path / "small.onnx", 8)) == 17
    export(model, tmp_path / "net.onnx", 2, 8)
    sizes = [(tmp_path / name).stat().st_size for name in ("small.onnx", "net.onnx")]
    assert sizes[0] < 0.8 * sizes[1]


def test_plain_network_and_its_mode(tmp_path: Path) -> None:
    model = network("vgg16", 8, None)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    path = tmp_path / "net.onnx"
    export(model, path, 2, 8)
    assert model.training
    assert all(state[name].equal(tensor) for name, tensor in model.state_dict().items())
    first = path.read_bytes()
    export(model, path, 2, 8)
    assert path.read_bytes() == first
    assert str(ROOT).encode() not in first
    graph = onnx.load(path).graph
    assert [value.name for value in (*graph.input, *graph.output)] == ["input", "output"]
    assert check(model, path, 8) == []


def test_npu_opt_shows_the_layers_without_torch(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    export(network("vgg16", 8, ZebraOptions(4, 0.1)), path, 2, 8)
    code = (
        "import sys; sys.modules['torch'] = None; "
        "from npu_tools.commands.opt import main; sys.exit(main())"
    )
    command = (sys.executable, "-c", code, str(path), "--frontend=onnx")
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("npu.prune_zero_blocks") == 13


class Noisy(nn.Module):
    """A module whose code depends on its input, which a graph cannot express."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Either x or its negative."""
        return x * self.scale if float(x.sum()) > 0 else -x


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"torch\.onnx\.export cannot export this network: "):
        export(Noisy(), tmp_path / "net.onnx", 2, 8)
    model = network("vgg16", 8, None)
    prune_weights(model, 0.5)
    with pytest.raises(UserError, match="make them permanent first"):
        export(model, tmp_path / "net.onnx", 2, 8)
