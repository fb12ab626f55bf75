"""A small sweep: two thresholds, a narrower network, fewer epochs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from npu_plans.zero_blocks.model import index_bytes
from npu_train import main, sweep_command
from npu_train.data import load, together
from npu_train.loop import seeded
from npu_train.measure import bytes_as_they_are, moved
from npu_train.models import ZebraOptions, build
from npu_train.models.parts import activations
from npu_train.sweep import METHODS, Row, Sweep, exported
from npu_train.sweep_command import rows_of, sweep_of, table

SRAM = 131072
SHORT = ["--pretrain", "4", "--epochs", "4", "--images", "5", "--methods", "zebra", "--seeds", "1"]
WHOLE, PROJECTED = 0, 1
"""How much of a map a layer reads. A 1x1 convolution of stride 2 skips the last row and column."""
STAGE = [(WHOLE,), (WHOLE, WHOLE), (WHOLE,), (WHOLE, PROJECTED)]
READS = [(WHOLE, WHOLE), *STAGE * 3, *STAGE[:3], (WHOLE,)]
"""The reads of each of the 17 maps of ResNet-18: by a convolution, and by a sum or a projection."""


def test_two_thresholds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Zebra at 0.2 moves less than the plain network."""
    out = tmp_path / "table"
    options = ["sweep", *SHORT, "--thresholds", "0,0.2"]
    assert main.main([*options, "--out", str(out)]) == 0, capsys.readouterr()
    rows = [Row(**row) for row in json.loads((out / "rows.json").read_text())]
    assert [(row.method, row.threshold) for row in rows] == [
        ("zebra", 0.0),
        ("zebra", 0.2),
    ]
    assert 0 < rows[0].reduced < rows[1].reduced < 1
    assert min(row.accuracy for row in rows) > 0.8
    assert sum(row.differing for row in rows) == 0
    text = (out / "table.md").read_text()
    assert text.count("\n| 0") == 2
    assert f"{100 * rows[1].reduced:.1f} %, {100 * rows[1].accuracy:.2f} %" in text
    assert text in capsys.readouterr().out


def test_a_scheduler_gets_each_seed_and_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in the order of seeds and methods, wherever they are computed."""
    dask = pytest.importorskip("distributed")
    monkeypatch.setattr(sweep_command, "part_of", named)
    what = sweep_of(sweep_command.argument_parser().parse_args(["--out", "table"]))
    workers = dask.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,  # threads of this process, in which `part_of` is another function
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=None,
    )
    with workers:
        rows = list(rows_of(what, range(5, 7), 1, workers.scheduler_address))
    assert [(row.method, row.threshold) for row in rows] == [
        (method, seed) for seed in (5, 6) for method in METHODS
    ]


def named(part: tuple[Sweep, int]) -> list[Row]:
    """A row that says which part it is of."""
    what, seed = part
    return [Row(what.methods[0], seed, 0.0, 0.0, 0.0, 0)]


def test_counters_are_the_formula() -> None:
    """The C counts what equations (2) and (3) give for the maps that torch computes.

    Each of the 17 maps is written once, and read by each of its readers, each time with its index.
    The image is read and the logits are written without blocks.
    """
    seeded(3)
    model = build(
        "resnet18", classes=10, channels=1, width=1 / 16, zebra=ZebraOptions(4, 0.4)
    ).eval()
    data = load("digits")
    images, _ = together(data.held_out, range(3))
    with exported(model, data) as path:
        whole = bytes_as_they_are(path, 4, SRAM)
        found = moved(path, 4, SRAM, np.asarray(images))
    maps: list[torch.Tensor] = []

    def note(_: torch.nn.Module, given: object, output: torch.Tensor) -> None:
        maps.append(output)

    for place in activations(model):
        place.register_forward_hook(note)
    with torch.no_grad():
        answers = model(images).argmax(1)
    assert found.answers == tuple(int(answer) for answer in answers)
    ends = 4 * (32 * 32 + 10)
    want, dense = ends * len(images), ends
    for each, reads in zip(maps, READS, strict=True):
        index = index_bytes(each.shape[1:], 4)
        kept = F.max_pool2d(each, 4, 4, ceil_mode=True) > 0
        blocks = kept.repeat_interleave(4, 2).repeat_interleave(4, 3)
        for less in (WHOLE, *reads):  # written once, then read
            size = each.shape[2] - less
            want += 4 * int(blocks[:, :, :size, :size].sum()) + len(images) * index
            dense += 4 * each.shape[1] * size**2
    assert found.bytes * len(images) == want
    # Without blocks the first projection has two tiles along each axis, and does not read the row
    # and the column between them.
    between = 4 * maps[4].shape[1] * (31**2 - 30**2)
    assert whole == dense - between
    assert found.bytes < 0.9 * whole


def test_table() -> None:
    """The table has rows of thresholds, columns of methods, and means over the seeds."""
    row = Row("zebra", 0.1, 0.9, 100.0, 0.5, 1)
    rows = [row, replace(row, accuracy=1.0, reduced=0.7), replace(row, threshold=0.0)]
    rows += [replace(each, method="slimming", differing=0) for each in rows]
    assert table(rows).splitlines() == [
        "| threshold | Zebra: less moved, accuracy | slimming alone: less moved, accuracy |",
        "|---|---|---|",
        "| 0 | 50.0 %, 90.00 % | 50.0 %, 90.00 % |",
        "| 0.1 | 60.0 %, 95.00 % | 60.0 %, 95.00 % |",
        "",
        "Images to which the C gives another class than torch, of all networks: 3.",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--thresholds", "0,x"], "--thresholds 0,x: expected numbers with commas between them"),
        (["--thresholds", "0,-1"], "threshold -1.0: expected a finite number of at least 0"),
        (["--thresholds", "nan"], "threshold nan: expected a finite number of at least 0"),
        (["--methods", "zebra,magic"], "--methods: expected some of zebra, zebra + slimming"),
        (["--prune-channels", "1"], "share 1.0: expected at least 0 and less than 1"),
        (["--block", "0"], "argument --block: expected an integer of at least 1, got '0'"),
        (["--weight-decay", "nan"], "--weight-decay nan: expected a finite number"),
        (["--width", "0", "--images", "1"], "width 0.0: expected a finite number above 0"),
        ([], "the following arguments are required: --out"),
    ],
)
def test_what_users_get_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    given = ["sweep", *options, *(["--out", str(tmp_path / "x")] if options else [])]
    assert main.main(given) == 1
    error = capsys.readouterr().err
    assert error.startswith("npu-train: error: ")
    assert message in error
    assert not (tmp_path / "x").exists()
