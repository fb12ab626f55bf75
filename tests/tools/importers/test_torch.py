"""Files of torch.export, which torch's own ONNX exporter converts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.onnx_models import layers, numbers
from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx import import_file
from npu_tools.shared.errors import UserError


@pytest.mark.torch
def test_exported_program(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(),
        torch.nn.Linear(64, 10),
    ).eval()
    given = numbers(1, 1, 8, 8)
    path = tmp_path / "small.pt2"
    torch.export.save(torch.export.export(network, (torch.from_numpy(given),)), str(path))
    module = import_file(path)
    (ours,) = run_function(module, None, [given])
    theirs = network(torch.from_numpy(given)).detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert "func.func @small(" in str(module)
    assert layers(module)[-1] == "npu.fully_connected"


@pytest.mark.torch
def test_recurrent_layers_and_attention(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)

    class Network(torch.nn.Module):
        """A GRU, causal attention over its outputs, and an LSTM."""

        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.gru = torch.nn.GRU(6, 4, batch_first=True, bidirectional=True)
            self.lstm = torch.nn.LSTM(8, 5, batch_first=True)

        def forward(self, x: Any) -> Any:
            y = self.gru(x)[0]
            # torch's exporter takes attention with heads only.
            y = torch.nn.functional.scaled_dot_product_attention(y, y, y, is_causal=True)
            return self.lstm(y)

    network, given, path = Network().eval(), numbers(1, 7, 6), tmp_path / "small.pt2"
    torch.export.save(torch.export.export(network, (torch.from_numpy(given),)), str(path))
    module = import_file(path)
    assert {"npu.recurrent", "npu.matmul"} <= set(layers(module))
    theirs, (hidden, cell) = network(torch.from_numpy(given))
    for ours, expected in zip(
        run_function(module, None, [given]), (theirs, hidden, cell), strict=True
    ):
        np.testing.assert_allclose(ours, expected.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.torch
def test_what_torch_does_not_export(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Values(torch.nn.Module):
        """The singular values of a matrix."""

        def forward(self, x: Any) -> Any:
            return torch.linalg.svd(x)[1]

    path = tmp_path / "small.pt2"
    torch.export.save(torch.export.export(Values(), (torch.ones(3, 3),)), str(path))
    told = (
        r"cannot export this program: node '_linalg_svd': No ONNX function found for .*_linalg_svd"
    )
    with pytest.raises(UserError, match=told):
        import_file(path)


@pytest.mark.torch
def test_other_files(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    path = tmp_path / "bad.pt2"
    with pytest.raises(UserError, match=r"bad\.pt2: no such file"):
        import_file(path)
    path.write_bytes(b"hello")
    with pytest.raises(UserError, match=r"bad\.pt2: not a torch\.export program"):
        import_file(path)


def test_torch_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "net.pt2"
    with pytest.raises(UserError, match=r"net\.pt2: no such file"):
        import_file(path)
    path.write_bytes(b"hello")
    with pytest.raises(
        UserError, match=r"torch is needed to read .*net\.pt2; install npu-dialect\[train\]"
    ):
        import_file(path)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "Cannot load the archive. See warnings above.\nmore",
            "one; expected a file written by",
        ),
        ("please check the log for details", "one; expected a file written by"),
        ("file in archive is not in a subdirectory", "one: file in archive is not in a sub"),
    ],
)
def test_damaged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    """A message of torch that points to its log is left out, as the log is not shown."""

    def load(_: str) -> None:
        raise RuntimeError(said)

    fake = SimpleNamespace(export=SimpleNamespace(load=load))
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setitem(sys.modules, "onnxscript", SimpleNamespace())
    path = tmp_path / "net.pt2"
    path.write_bytes(b"hello")
    with pytest.raises(UserError) as caught:
        import_file(path)
    assert f"net.pt2: not a torch.export program, or a damaged {shown}" in str(caught.value)
