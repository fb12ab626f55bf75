"""Measures the off-chip traffic of a trained network with the counters of its emitted C.

The machine is exynos-npu with another size of SRAM. Maps move as on the hardware of paper 003: each
map behind a ReLU is written to DRAM when it is complete, and each of its readers fetches it.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.harness import built

MACHINE = "exynos-npu"
BEFORE = (
    "npu-fold-batch-norm,npu-fuse-conv-relu-pool,npu-bufferize,npu-spill-pruned-maps,"
    "npu-spill-maps,npu-tile-loops{{block-size={block}}}"
)
COMPRESS = "npu-compress-spills{{block-size={block}}}"
BEHIND = (
    "npu-double-buffer,npu-assign-sram-offsets{strategy=greedy},npu-assign-dram-offsets,"
    "npu-outline-layers,npu-lower-to-loops"
)


@dataclass(frozen=True)
class MovedBytes:
    """The measured traffic of a network on some images.

    `bytes`: bytes of feature maps and their index that one inference moves, the mean over images.
    `answers`: the class that the C finds for each image.
    """

    bytes: float
    answers: tuple[int, ...]


def pipeline(block: int, *, compressed: bool) -> str:
    """The text of the pass pipeline; with `compressed`, maps behind ReLUs move in blocks."""
    steps = (BEFORE, *([COMPRESS] if compressed else []))
    return ",".join([*(step.format(block=block) for step in steps), BEHIND])


def bytes_as_they_are(model: Path, block: int, sram: int) -> int:
    """The bytes of feature maps that an inference moves without compression, for any image.

    Raises: UserError, MachineError or DiagnosticException if the network cannot be compiled.
    """
    report = compiled(model, pipeline(block, compressed=False), sram).report
    return report.off_chip.feature_map_read_bytes + report.off_chip.feature_map_write_bytes


def moved(model: Path, block: int, sram: int, images: npt.NDArray[np.float32]) -> MovedBytes:
    """Measure the traffic for images [N, C, H, W] with maps in blocks of `block` x `block`.

    Raises: UserError, MachineError or DiagnosticException if the network cannot be compiled or run.
    """
    made = compiled(model, pipeline(block, compressed=True), sram)
    total, answers = 0, list[int]()
    with built(made.name, made.files, made.report) as harness:
        for image in images:
            (output,), counters = harness.run_and_count([image[np.newaxis, np.newaxis]])
            assert counters is not None  # a machine with DMA
            total += counters.feature_map_read_bytes + counters.feature_map_write_bytes
            answers.append(int(output.argmax()))
    return MovedBytes(total / len(images), tuple(answers))


def compiled(model: Path, passes: str, sram: int) -> Compiled:
    """Compile a network for a copy of the machine with `sram` bytes of SRAM."""
    source = resources.files("npu_dialect.targets") / f"{MACHINE}.toml"
    text = re.sub(r"(?m)^sram_bytes = \d+", f"sram_bytes = {sram}", source.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        target = Path(folder) / "machine.toml"
        target.write_text(text, encoding="utf-8")
        return compile_model(Job(model, str(target), pipeline=passes))
