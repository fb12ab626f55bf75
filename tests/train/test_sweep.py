"""Small sweeps: their rows, their networks, and their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from helpers.train_files import squares
from npu_plans.zero_blocks.model import index_bytes
from npu_tools.reports.report import LayerReport
from npu_train import main, sweep_command
from npu_train.data import load, together
from npu_train.loop import seeded
from npu_train.markdown import markdown
from npu_train.measure import bytes_as_they_are, compiled, moved, pipeline
from npu_train.models import ZebraOptions, build
from npu_train.models.parts import activations
from npu_train.stretches import LOG
from npu_train.sweep import Sweep
from npu_train.sweep_command import rows_of, sweep_of
from npu_train.table import Row, exported

SRAM = 131072
DATA = squares()
SHARED = ["--model", "resnet18", "--width", "0.0625", "--methods", "zebra,zebra + slimming"]
ROW = Row(0, 0.0, 0.0, 0.1, True, 0.9, 0.9, 0.45, 0.4, 0.5, 0)
WHOLE, PROJECTED = 0, 1
"""How much of a map a layer reads. A 1x1 convolution of stride 2 skips the last row and column."""
STAGE = [(WHOLE,), (WHOLE, WHOLE), (WHOLE,), (WHOLE, PROJECTED)]
READS = [(WHOLE, WHOLE), *STAGE * 3, *STAGE[:3], (WHOLE,)]
"""The reads of each of the 17 maps of ResNet-18: by a convolution, and by a sum or a projection."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Row]]:
    """A sweep: its images, the networks that it has kept, and its rows."""
    folder = tmp_path_factory.mktemp("sweep")
    images = folder / "squares.npz"
    arrays: dict[str, Any] = {}
    for name, half in (("train", DATA.train), ("test", DATA.held_out)):
        arrays |= {f"{name}_images": half.held, f"{name}_labels": half.labels}
    np.savez(images, **arrays)
    out, networks = folder / "table", folder / "networks"
    assert main.main(["sweep", *small(images), "--keep", str(networks), "--out", str(out)]) == 0
    return images, networks, held(out)


def small(images: Path) -> list[str]:
    """The options of a small sweep."""
    rates = ["--tuning-rate", "0.1", "--weight-decay", "0.001", "--validation", "0.25"]
    sizes = ["--batch", "8", "--pretrain", "2", "--epochs", "2", "--block", "2", "--images", "0"]
    return ["--data", f"npz:{images}", *SHARED, *rates, *sizes, "--thresholds", "0,0.2"]


def held(out: Path) -> list[Row]:
    """The rows that a command has written."""
    return [Row(**row) for row in json.loads((out / "rows.json").read_text())]


def skipped(layers: Sequence[LayerReport]) -> int:
    """The bytes between two tiles, which 1x1 convolutions of stride 2 do not read.

    They halve the rows and the columns, and double the channels.
    """
    total = 0
    for layer in layers:
        if layer.op != "npu.conv2d" or layer.tile is None:
            continue
        _, channels, rows, columns = layer.shape
        if layer.weight_bytes == 4 * channels * channels // 2:
            down, across = rows // layer.tile[2], columns // layer.tile[3]
            read = (2 * rows - down) * (2 * columns - across)
            total += 4 * (channels // 2) * ((2 * rows - 1) * (2 * columns - 1) - read)
    return total


def test_rows(swept: tuple[Path, Path, list[Row]]) -> None:
    """Each network gives its rows: with its threshold, or with each of them put on."""
    whole, slim = (0.0, 0.0), (0.3, 0.0)
    assert [((row.channels, row.weights), row.threshold, row.trained) for row in swept[2]] == [
        (whole, 0.0, False),
        (whole, 0.2, False),
        (whole, 0.2, True),
        (slim, 0.0, False),
        (slim, 0.2, False),
        (slim, 0.2, True),
    ]
    plain, put_on, _, slimmed, *_ = swept[2]
    assert 0 < plain.once < put_on.once < put_on.zero_share
    assert all(row.reduced is None and row.validation is not None for row in swept[2])
    # 2176 floats, of which 2048 are in blocks of 2 x 2; the others are the maps of 1 x 1.
    assert plain.once == pytest.approx(plain.zero_share - (2048 / 4 + 128) / 8 / (2176 * 4))
    assert slimmed.once > slimmed.zero_share  # of fewer elements


def test_the_table_again(swept: tuple[Path, Path, list[Row]], tmp_path: Path) -> None:
    """`npu-train table` makes each row from the kept networks; it does not train them further."""
    images, networks, rows = swept
    before = {path: path.read_bytes() for path in networks.rglob("*") if path.is_file()}
    options = ["--data", f"npz:{images}", "--out", str(tmp_path)]
    assert main.main(["table", str(networks), *options, "--images", "0"]) == 0
    assert held(tmp_path) == rows
    assert before == {path: path.read_bytes() for path in networks.rglob("*") if path.is_file()}


def test_a_table_counted_by_the_c(swept: tuple[Path, Path, list[Row]], tmp_path: Path) -> None:
    """The C of a kept network says what moves less, and answers as torch does."""
    images, networks, rows = swept
    options = ["--data", f"npz:{images}", "--images", "3", "--out", str(tmp_path)]
    assert main.main(["table", str(networks / "seed-0" / "zebra-0.2"), *options]) == 0
    (found,) = held(tmp_path)
    assert replace(found, reduced=None) == rows[2]
    assert found.reduced is not None
    assert found.reduced == pytest.approx(rows[2].once, abs=0.1)


def test_a_network_of_a_sweep_is_one_of_npu_train(
    swept: tuple[Path, Path, list[Row]], tmp_path: Path
) -> None:
    """Its options can be typed: the network has the same bytes."""
    images, networks, _ = swept
    given = small(images)
    del given[-4:]  # how rows are made, and the thresholds
    more = ["--threshold", "0.2", "--regularisation", "0.1", "--prune-channels", "0.3"]
    place = given.index("--methods")
    typed = [*given[:place], *given[place + 2 :], *more]
    assert main.main([*typed, "--slimming", "0.0001", "--out", str(tmp_path)]) == 0
    kept = networks / "seed-0" / "slimming-0.3-zebra-0.2"
    assert (tmp_path / "model.onnx").read_bytes() == (kept / "model.onnx").read_bytes()
    logs = [(folder / LOG).read_text().splitlines() for folder in (tmp_path, kept)]
    one, two = ([json.loads(line) | {"seconds": 0} for line in log] for log in logs)
    assert one == two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["/nowhere"], "/nowhere: no networks: expected a folder of npu-train sweep --keep"),
        (["NETWORKS"], "trained on 24 images of npz, not on"),
        (["NETWORKS/seed-0/plain"], "plain: trained with no blocks: expected --block"),
        (["NETWORKS", "--thresholds", "a"], "--thresholds a: expected numbers with commas"),
    ],
)
def test_tables_that_cannot_be(
    swept: tuple[Path, Path, list[Row]],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    place, *more = options
    assert main.main(["table", place.replace("NETWORKS", str(swept[1])), *more]) == 1
    assert message in capsys.readouterr().err


def test_a_scheduler_gets_each_seed_and_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in the order of seeds and methods, wherever they are computed."""
    dask = pytest.importorskip("distributed")
    monkeypatch.setattr(sweep_command, "part_of", named)
    what = sweep_of(sweep_command.sweep_parser().parse_args(["--out", "table"]))
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
    prunings = [(0.0, 0.0), (0.0, 0.4), (0.3, 0.0)]
    assert [(row.seed, (row.channels, row.weights)) for row in rows] == [
        (seed, pruning) for seed in (5, 6) for pruning in prunings
    ]


def named(part: tuple[Sweep, int]) -> list[Row]:
    """Rows that say which part they are of."""
    what, seed = part
    return [replace(ROW, seed=seed, **vars(pruning)) for pruning in what.prunings]


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
        between_tiles = skipped(compiled(path, pipeline(4, compressed=False), SRAM).report.layers)
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
    assert whole == dense - between_tiles
    assert found.bytes < 0.9 * whole


def test_markdown() -> None:
    """The table has means and deviations over seeds, and a choice by the validation images."""
    plain = replace(ROW, threshold=0.0, trained=False, reduced=0.25)
    costly = replace(ROW, channels=0.3, validation=0.8, accuracy=1.0, reduced=0.9)
    rows = [costly, ROW, replace(ROW, seed=1, accuracy=1.0, reduced=0.7), plain]
    rows += [replace(plain, threshold=0.1, accuracy=0.5, differing=2)]
    assert markdown(rows).splitlines()[2:] == [
        "| whole | 0 | 90.00 | 45.0 | 25.0 | 40.0 | - | - |",
        "| whole | 0.1 | 95.00 ± 7.07 | 45.0 ± 0.0 | 60.0 ± 14.1 | 40.0 ± 0.0 | 50.00 | 25.0 |",
        "| 30 % of channels removed | 0.1 | 100.00 | 45.0 | 90.0 | 40.0 | - | - |",
        "",
        "The validation images choose, of all lines with at most 1 point less accuracy on them: "
        "whole, threshold 0.1. It moves 60.0 % less; accuracy on the test images 95.00 %, against "
        "90.00 %.",
        "",
        "Means of 2 seeds, ± the deviation. Images to which the C gives another class than torch, "
        "of all networks: 2.",
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
        (["--prune-channels", "0.3,2"], "share 2.0: expected at least 0 and less than 1"),
        (["--block", "64"], "block size 64: expected at most the image's 32"),
        (["--data", "mnist"], "--data mnist: expected digits"),
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
