"""The networks of examples/zoo: what becomes of them, by both exporters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError

REFUSED = ("gru", "lstm")
"""Networks with layers that there are not yet."""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the zoo."""
    return subprocess.run(
        [sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_some_networks_of_the_zoo(tmp_path: Path) -> None:
    names = ("mobilenet_v3", "vit", "unet_bilinear", "wavenet", "gru")
    done = run("examples/zoo/zoo.py", "-o", tmp_path, *names)
    assert done.returncode == 0, done.stderr
    table = run("examples/zoo/table.py", tmp_path)
    assert table.stdout.rstrip().endswith("4 of 5 compile and agree with onnxruntime")
    assert "(GRU): the operator is not supported" in table.stdout


def test_names_that_are_not_in_the_zoo(tmp_path: Path) -> None:
    done = run("examples/zoo/zoo.py", "-o", tmp_path, "unicorn")
    assert done.returncode == 2
    assert "unknown networks unicorn; expected autoencoder, " in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exporter", "names"),
    [("old", ()), ("new", ("encoder", "gru", "lstm", "unet_bilinear", "yolo"))],
)
def test_networks_are_read(exporter: str, names: tuple[str, ...], tmp_path: Path) -> None:
    """All networks by the old exporter, and some by the new one, which takes much longer."""
    done = run("examples/zoo/zoo.py", "-o", tmp_path, "--exporter", exporter, *names)
    assert done.returncode == 0, done.stderr
    refused: list[str] = []
    for path in sorted(tmp_path.iterdir()):
        try:
            import_model(path.read_bytes(), name=path.stem, base_dir=None).verify()
        except UserError:
            refused.append(path.stem)
    assert refused == list(REFUSED)
