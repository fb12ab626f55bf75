"""The networks of examples/zoo: what becomes of them, by both exporters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

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
@pytest.mark.parametrize("exporter", ["old", "new"])
def test_the_whole_zoo(exporter: str, tmp_path: Path) -> None:
    done = run("examples/zoo/zoo.py", "-o", tmp_path, "--exporter", exporter)
    assert done.returncode == 0, done.stderr
    models = list(tmp_path.iterdir())
    table = run("examples/zoo/table.py", tmp_path).stdout
    count = f"{len(models) - len(REFUSED)} of {len(models)} compile and agree with onnxruntime"
    assert table.rstrip().endswith(count), table
