"""What zero blocks save on Inception-V3: maps that cross the border of the chip, counted by its C.

    python bench/zero_block_networks.py [--thresholds 0.1,0.5,1] [--sram KB] [--int8]

One table, in KB of 1024 bytes, for a photograph: executed layer by layer, without compression,
lossless (blocks that are zero behind the ReLUs stay where they are), and pruned. Every line is a
program that has been built and run on the host with the strict engine of `npu_dma.h`, which counts;
only the first line and the worst case are what the report says.

The machine is `exynos-npu` with 256 KB of SRAM for elements of one byte. In float32, which is the
default, it has four times as much: the same plan, transfer by transfer, with four times the bytes.
With `--int8` the network is quantised by npu-quantize, on the photograph, and the machine has 256
KB.

The photograph is one of scikit-learn's (extra `train`), its middle 299 x 299 pixels, scaled as
torchvision does. THE WEIGHTS ARE RANDOM: half of what a ReLU gives is zero, wherever the image is
smooth in whole blocks. Trained networks have other shares; what is shown is that the bytes go.

Exit code 1 if the lossless program computes other scores, moves more than the one without
compression, or if a larger threshold moves more than a smaller one.
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

# In place of this folder.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build

Array = NDArray[np.float32]

NETWORK = "inception_v3"
BLOCK = 4
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""torchvision's, of the three colours from 0 to 1."""
TOLERANCE = 1e-4
"""Of the largest score: tiles differ, and with them the order of sums."""
COMPRESS = f"npu-compress-spills{{block-size={BLOCK}}}"


@dataclass(frozen=True)
class Run:
    """A program that has run: what it moved, its scores, and what was to be expected."""

    counters: Counters
    scores: Array
    report: Report

    @property
    def maps(self) -> int:
        """Bytes of maps."""
        return self.counters.feature_map_read_bytes + self.counters.feature_map_write_bytes


def photograph(size: int) -> Array:
    """The middle of a picture of scikit-learn's as an input [1, 3, size, size]."""
    datasets: Any = import_module("sklearn.datasets")
    picture: NDArray[np.uint8] = datasets.load_sample_image("china.jpg")
    top, left = ((extent - size) // 2 for extent in picture.shape[:2])
    part = picture[top : top + size, left : left + size] / 255
    return ((part - MEAN) / DEVIATION).transpose(2, 0, 1)[np.newaxis].astype(np.float32)


def pipelines(thresholds: Sequence[float]) -> Iterator[tuple[str, str]]:
    """What to call each line, and its passes."""
    blocks = PIPELINES["zero-blocks"].text
    yield "without compression", PIPELINES["off-chip"].text
    yield "lossless", blocks
    for threshold in thresholds:
        prune = f"npu-prune-zero-blocks{{block-size={BLOCK} threshold={threshold}}}"
        yield f"pruned below {threshold:g}", blocks.replace(COMPRESS, f"{prune},{COMPRESS}")


def run(model: Path, target: str, pipeline: str, image: Array) -> Run:
    """Compile, build and run a network."""
    found = compile_model(Job(model, target, pipeline=pipeline, weights="bin"))
    with built(found.name, found.files, found.report) as harness:
        (scores,), counters = harness.run_and_count([image[np.newaxis]])
    assert counters is not None
    return Run(counters, scores[0], found.report)


def line(what: str, read: int, written: int, plain: int, rest: str = "") -> str:
    """A row: bytes read and written, both together, also in percent of the plain program's."""
    cells = [what, *(f"{size / KB:.1f}" for size in (read, written, read + written))]
    share = f"{100 * (read + written) / plain:.1f}" if plain else ""
    return f"| {' | '.join([*cells, share, rest])} |"


def row(what: str, each: Run, plain: Run) -> str:
    """The row of a program, with the change of its scores."""
    counters = each.counters
    change = 100 * relative_error(each.scores, plain.scores)
    said = "" if each is plain else f"{change:.3g} %"
    read, written = counters.feature_map_read_bytes, counters.feature_map_write_bytes
    return line(what, read, written, plain.maps, said)


def print_table(model: Path, target: str, image: Array, thresholds: Sequence[float]) -> bool:
    """Print the table; whether it is as it should be."""
    print("| maps, KB | read | written | together | % | scores change by |")
    print("|---" + "|---:" * 5 + "|", flush=True)
    runs: list[Run] = []
    for what, pipeline in pipelines(thresholds):
        runs.append(run(model, target, pipeline, image))
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
    same = relative_error(runs[1].scores, runs[0].scores) <= TOLERANCE
    return same and moved[0] < runs[0].maps and moved == sorted(moved, reverse=True)


def model_file(folder: Path, image: Array, options: argparse.Namespace) -> Path:
    """The network, quantised if asked for."""
    path = folder / f"{NETWORK}.onnx"
    proto = build(NETWORK, size=(options.size, options.size), width=options.width)
    path.write_bytes(proto.SerializeToString())
    if not options.int8:
        return path
    quantize: Any = import_module("npu_tools.commands.quantize")
    data, out = folder / "data.npz", folder / f"{NETWORK}_int8.onnx"
    np.savez(data, image=image)
    if quantize.main([str(path), "--calibrate", str(data), "-o", str(out)]):
        sys.exit(1)
    return out


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser("zero_block_networks.py", description="Zero blocks saved.")
    parser.add_argument(
        "--thresholds",
        type=lambda text: sorted(map(float, text.split(","))),
        default=[0.1, 0.5, 1.0],
        metavar="T[,T...]",
        help="default: 0.1,0.5,1",
    )
    parser.add_argument("--sram", type=int, default=256, metavar="KB", help="in bytes of int8")
    parser.add_argument("--int8", action="store_true", help="quantised, not float32")
    parser.add_argument("--size", type=int, default=299, help="of the image")
    parser.add_argument("--width", type=float, default=1.0, help="a factor for all channels")
    return parser.parse_args()


def main() -> int:
    """Print the table; 1 if it is not as it should be."""
    options = arguments()
    if find_spec("sklearn") is None:
        print("expected scikit-learn for a picture: pip install 'npu-dialect[train]'")
        return 1
    image = photograph(options.size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = model_file(folder, image, options)
        target = machine_file(folder, options.sram * KB * (1 if options.int8 else 4))
        good = print_table(model, target, image, options.thresholds)
    size = f"{options.sram} KB of SRAM"
    kind = f"int8, {size}" if options.int8 else f"float32, the plan of int8 in {size}"
    print(f"\n{kind}; blocks of {BLOCK} x {BLOCK}; random weights, a photograph")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
