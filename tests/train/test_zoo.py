"""The networks of examples/zoo: what becomes of them, by both exporters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from npu_tools.importers.onnx import import_model


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the zoo."""
    return subprocess.run(
        [sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_some_networks_of_the_zoo(tmp_path: Path) -> None:
    names = ("vit", "unet_bilinear", "ds_cnn")
    done = run("examples/zoo/zoo.py", "-o", tmp_path, *names)
    assert done.returncode == 0, done.stderr
    table = run("examples/zoo/table.py", tmp_path)
    assert table.stdout.rstrip().endswith("3 of 3 compile and agree with onnxruntime")
    forms = ("qdq", "operators-u8")
    table = run("examples/zoo/table.py", tmp_path, "--names", "ds_cnn", "--forms", *forms)
    assert table.stdout.rstrip().endswith("2 of 2 compile and agree with onnxruntime")
    rows = [line.split() for line in table.stdout.splitlines()[1:3]]
    assert [row[:2] for row in rows] == [["ds_cnn", form] for form in forms]
    assert {row[4] for row in rows} == {"fe310"}  # the smallest machine: 16 KB


def test_names_that_are_not_in_the_zoo(tmp_path: Path) -> None:
    done = run("examples/zoo/zoo.py", "-o", tmp_path, "unicorn")
    assert done.returncode == 2
    assert "unknown networks unicorn; expected autoencoder, " in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exporter", "names"),
    [("old", ()), ("new", ("encoder", "gru", "swin", "unet_bilinear", "yolo"))],
)
def test_networks_are_read(exporter: str, names: tuple[str, ...], tmp_path: Path) -> None:
    """All networks by the old exporter, and some by the new one, which takes much longer."""
    done = run("examples/zoo/zoo.py", "-o", tmp_path, "--exporter", exporter, *names)
    assert done.returncode == 0, done.stderr
    for path in sorted(tmp_path.iterdir()):
        import_model(path.read_bytes(), name=path.stem, base_dir=None).verify()
