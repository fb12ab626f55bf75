"""What a trained network moves over the border of a chip, counted by the C that npu-compile emits.

The machine is a copy of exynos-npu with less memory, the hardware that of paper 003: each map
behind a ReLU goes to DRAM when it is complete, and everything that reads it fetches it.
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
    """Bytes of feature maps that one inference moves, the index included: the mean of images.

    `answers`: the class that the C finds in each image.
    """

    bytes: float
    answers: tuple[int, ...]


def pipeline(block: int, *, compressed: bool) -> str:
    """The passes, with maps in blocks or as they are."""
    steps = (BEFORE, *([COMPRESS] if compressed else []))
    return ",".join([*(step.format(block=block) for step in steps), BEHIND])


def bytes_as_they_are(model: Path, block: int, sram: int) -> int:
    """What a network moves if no map is in blocks: the same for every image.

    Raises: UserError, MachineError or DiagnosticException if it cannot be compiled.
    """
    report = compiled(model, pipeline(block, compressed=False), sram).report
    return report.off_chip.feature_map_read_bytes + report.off_chip.feature_map_write_bytes


def moved(model: Path, block: int, sram: int, images: npt.NDArray[np.float32]) -> MovedBytes:
    """What a network moves for images [N, C, H, W], in blocks of `block` x `block`.

    Raises: UserError, MachineError or DiagnosticException if it cannot be compiled or run.
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
    """A network as C, for a copy of the machine with so much memory."""
    source = resources.files("npu_dialect.targets") / f"{MACHINE}.toml"
    text = re.sub(r"(?m)^sram_bytes = \d+", f"sram_bytes = {sram}", source.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        target = Path(folder) / "machine.toml"
        target.write_text(text, encoding="utf-8")
        return compile_model(Job(model, str(target), pipeline=passes))
