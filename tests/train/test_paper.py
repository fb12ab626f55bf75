"""examples/training: tables I and II of paper 003, on small folders in the published layout."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.train_files import cifar_binary, tiny_imagenet

SCRIPT = ROOT / "examples" / "training" / "paper.py"
SMALL = ["--width", "0.03125"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("table", "count", "best"), [("cifar10", 21, 93.27), ("tiny_imagenet", 9, 61.46)]
)
def test_figures(table: str, count: int, best: float) -> None:
    """All rows are there once, with shares and figures in percent."""
    held = tomllib.loads((SCRIPT.parent / f"{table}.toml").read_text(encoding="utf-8"))
    rows = held["rows"]
    keys = ("model", "threshold", "channels", "weights")
    assert len({tuple(row.get(key) for key in keys) for row in rows}) == len(rows) == count
    assert max(row["accuracy"] for row in rows) == best
    assert all(2 < row["reduced"] < 80 for row in rows)


@pytest.mark.slow
def test_tables(tmp_path: Path) -> None:
    """Rows are trained, pruned and printed beside the paper's figures; done ones stay."""
    cifar_binary(tmp_path)
    options = ["-o", tmp_path / "runs", "--epochs", "1", "--rows", "resnet18-0", "resnet18-*-ns0.2"]
    twice = [run("cifar10", tmp_path, *options, "--", *SMALL, "--batch", "10") for _ in range(2)]
    for done in twice:
        assert done.returncode == 0, done.stderr
        header, plain, slimmed = [line.split() for line in done.stdout.splitlines()[-3:]]
        assert header[:2] == ["network", "reduced"]
        assert (plain[0], plain[2], plain[4]) == ("resnet18-0", "2.80", "91.33")
        assert (slimmed[0], slimmed[2], slimmed[4]) == ("resnet18-0.2-ns0.2", "41.40", "91.55")
    assert ["pre-training" in done.stdout for done in twice] == [True, False]
    images = tmp_path / "images"
    tiny_imagenet(images)
    options[-2:] = ["*-wp0.4"]
    done = run("tiny_imagenet", images, *options, "--", *SMALL, "--batch", "1")
    assert done.returncode == 0, done.stderr
    assert "--prune-weights 0.4 --block 8 --threshold 0.2" in done.stdout
    assert done.stdout.splitlines()[-1].split()[::2] == ["resnet18-0.2-wp0.4", "41.80", "59.64"]


def test_images_that_are_not_there(tmp_path: Path) -> None:
    done = run("cifar10", tmp_path, "-o", tmp_path, "--rows", "vgg16-0")
    assert done.returncode == 1
    assert "not CIFAR-10" in done.stderr
