"""The traffic of maps that zero blocks save on Inception-V3, counted by the emitted C.

    python bench/zero_block_networks.py [--thresholds 0.1,0.5,1] [--sram KB] [--int8]
    python bench/zero_block_networks.py --network resnet50 --size 224 --int8 --thresholds ""

One table, in KB of 1024 bytes, for a photograph. Its lines are layer-by-layer execution, the
network without compression, lossless compression (blocks that are zero after ReLUs do not move),
and pruning with each threshold. The programs are built and run on the host with the strict engine
of `npu_dma.h`, which counts. Only the lines of layer-by-layer execution and of the worst case, in
which no block is zero, come from the report.

The machine is `exynos-npu` with 256 KB of SRAM for elements of one byte. In float32, the default,
it has four times as much. The plan is then the same, with four times the bytes in each transfer.
With `--int8`, npu-quantize quantises the network on the photograph, and the machine has 256 KB.
There are two more lines then, with the photograph for --calibrate: all maps as bit planes where
these save something, and each map by the code that it was measured to need fewer bytes in.

The photograph is one of scikit-learn's (extra `train`). Its middle 299 x 299 pixels are scaled as
torchvision does. THE WEIGHTS ARE RANDOM: half of a ReLU's outputs are zero, in whole blocks where
the image is smooth. Trained networks have other shares. The table only shows that zero blocks do
not move.

The exit code is 1 if a lossless program computes other scores or does not move less than the one
without compression, or if a larger threshold moves more than a smaller one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_dialect.interpreters import Counters
from npu_passes.pipelines import PIPELINES
from npu_tools.compiling.check import relative_error
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.report import Report
from npu_tools.verifying.harness import built

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build

Array = NDArray[np.float32]

BLOCK = 4
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""torchvision's mean and deviation of the three colours, which go from 0 to 1."""
TOLERANCE = 1e-4
"""Largest error of scores, relative to the largest. Tiles differ, and so the order of sums."""
COMPRESS = f"npu-compress-spills{{block-size={BLOCK}}}"
PLANES, CHOSEN = "bit planes", "chosen by calibration"
"""The lines with bit planes."""


@dataclass(frozen=True)
class Run:
    """A program that has run: its counters, its scores, and its report."""

    counters: Counters
    scores: Array
    report: Report

    @property
    def maps(self) -> int:
        """The bytes of maps that were read and written."""
        return self.counters.feature_map_read_bytes + self.counters.feature_map_write_bytes


def photograph(size: int) -> Array:
    """The middle of one of scikit-learn's pictures, as an input [1, 3, size, size]."""
    datasets: Any = import_module("sklearn.datasets")
    picture: NDArray[np.uint8] = datasets.load_sample_image("china.jpg")
    top, left = ((extent - size) // 2 for extent in picture.shape[:2])
    part = picture[top : top + size, left : left + size] / 255
    return ((part - MEAN) / DEVIATION).transpose(2, 0, 1)[np.newaxis].astype(np.float32)


def pipelines(thresholds: Sequence[float], *, int8: bool) -> Iterator[tuple[str, str]]:
    """The name of each line, and its pass pipeline."""
    blocks = PIPELINES["zero-blocks"].text
    yield "without compression", PIPELINES["off-chip"].text
    yield "lossless", blocks
    if int8:
        yield PLANES, blocks.replace(COMPRESS, "npu-compress-spills{code=planes}")
        yield CHOSEN, blocks
    for threshold in thresholds:
        prune = f"npu-prune-zero-blocks{{block-size={BLOCK} threshold={threshold}}}"
        yield f"pruned below {threshold:g}", blocks.replace(COMPRESS, f"{prune},{COMPRESS}")


def run(model: Path, target: str, pipeline: str, image: Array, data: Path | None) -> Run:
    """Compile, build and run a network; `data` is the file for --calibrate."""
    found = compile_model(Job(model, target, pipeline=pipeline, weights="bin", calibrate=data))
    with built(found.name, found.files, found.report) as harness:
        (scores,), counters = harness.run_and_count([image[np.newaxis]])
    assert counters is not None
    return Run(counters, scores[0], found.report)


def line(what: str, read: int, written: int, plain: int, rest: str = "") -> str:
    """A row of the table: KB read, written, and both, the sum also in percent of `plain` bytes."""
    cells = [what, *(f"{size / KB:.1f}" for size in (read, written, read + written))]
    share = f"{100 * (read + written) / plain:.1f}" if plain else ""
    return f"| {' | '.join([*cells, share, rest])} |"


def row(what: str, each: Run, plain: Run) -> str:
    """The row of a program, with the change of its scores from those of `plain`."""
    counters = each.counters
    change = 100 * relative_error(each.scores, plain.scores)
    said = "" if each is plain else f"{change:.3g} %"
    read, written = counters.feature_map_read_bytes, counters.feature_map_write_bytes
    return line(what, read, written, plain.maps, said)


def print_table(
    model: Path, target: str, image: Array, thresholds: Sequence[float], *, int8: bool
) -> bool:
    """Print the table; returns whether the conditions for exit code 0 hold."""
    data = model.parent / "data.npz"
    np.savez(data, image=image)
    print("| maps, KB | read | written | together | % | scores change by |")
    print("|---" + "|---:" * 5 + "|", flush=True)
    runs: list[Run] = []
    planes: list[Run] = []
    for what, pipeline in pipelines(thresholds, int8=int8):
        if what in (PLANES, CHOSEN):
            planes.append(run(model, target, pipeline, image, data))
            print(row(what, planes[-1], runs[0]), flush=True)
            continue
        runs.append(run(model, target, pipeline, image, None))
        plain = runs[0]
        if len(runs) == 1:
            naive = plain.report.naive
            read, written = naive.feature_map_read_bytes, naive.feature_map_write_bytes
            print(line("layer by layer", read, written, plain.maps))
        if len(runs) == 2:
            most = runs[1].report.off_chip
            read, written = most.feature_map_read_bytes, most.feature_map_write_bytes
            print(line("in blocks, nothing zero", read, written, plain.maps))
        print(row(what, runs[-1], plain), flush=True)
    moved = [each.maps for each in runs[1:]]
    lossless = [runs[1], *planes]
    same = all(relative_error(each.scores, runs[0].scores) <= TOLERANCE for each in lossless)
    return same and moved[0] < runs[0].maps and moved == sorted(moved, reverse=True)


def model_file(folder: Path, image: Array, options: argparse.Namespace) -> Path:
    """Write the network's file, quantised with --int8."""
    path = folder / f"{options.network}.onnx"
    proto = build(options.network, size=(options.size, options.size), width=options.width)
    path.write_bytes(proto.SerializeToString())
    if not options.int8:
        return path
    quantize: Any = import_module("npu_tools.commands.quantize")
    data, out = folder / "data.npz", folder / f"{options.network}_int8.onnx"
    np.savez(data, image=image)
    if quantize.main([str(path), "--calibrate", str(data), "-o", str(out)]):
        sys.exit(1)
    return out


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser("zero_block_networks.py", description="Zero blocks saved.")
    parser.add_argument(
        "--thresholds",
        type=lambda text: sorted(map(float, filter(None, text.split(",")))),
        default=[0.1, 0.5, 1.0],
        metavar="T[,T...]",
        help="default: 0.1,0.5,1",
    )
    parser.add_argument("--sram", type=int, default=256, metavar="KB", help="in bytes of int8")
    parser.add_argument("--int8", action="store_true", help="quantised, not float32")
    parser.add_argument("--network", default="inception_v3", help="of examples/networks")
    parser.add_argument("--size", type=int, default=299, help="of the image")
    parser.add_argument("--width", type=float, default=1.0, help="a factor for all channels")
    return parser.parse_args()


def main() -> int:
    """Print the table; returns the exit code."""
    options = arguments()
    if find_spec("sklearn") is None:
        print("expected scikit-learn for a picture: pip install 'npu-dialect[train]'")
        return 1
    image = photograph(options.size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = model_file(folder, image, options)
        target = machine_file(folder, options.sram * KB * (1 if options.int8 else 4))
        good = print_table(model, target, image, options.thresholds, int8=options.int8)
    size = f"{options.sram} KB of SRAM"
    kind = f"int8, {size}" if options.int8 else f"float32, the plan of int8 in {size}"
    print(f"\n{kind}; blocks of {BLOCK} x {BLOCK}; random weights, a photograph")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
