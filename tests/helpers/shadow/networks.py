"""Random networks, compiled with a named pipeline for a random machine."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from helpers.every_operator.draw import draw
from helpers.random_onnx import random_model
from npu_passes.pipelines import PIPELINES
from npu_tools.compiling.driver import Job, compile_model

NEEDED = re.compile(r"needs (\d+) bytes of SRAM at least")
WITH_DMA = ("off-chip", "tails", "zero-blocks")
LOWERING = tuple(name for name in PIPELINES if name != "kim2019")
"""The pipelines that end at loops. `kim2019` ends with a plan of a network on tensors."""


def network(seed: int) -> ModelProto:
    """A random network: of floats, or with any operators, or quantised."""
    return draw(seed).model if seed % 2 else random_model(seed)[0]


def machine(random: Random, sram_bytes: int, *, dma: bool) -> str:
    """The text of a random machine."""
    numbers: dict[str, object] = {
        "sram_bytes": sram_bytes,
        "flash_bytes": 2**30,
        "registers": random.choice((0, 16, 32)),
        "alignment": random.choice((1, 4, 16)),
        "features": random.choice(('["dsp"]', "[]", '["dsp", "mve"]')),
    }
    if dma:
        numbers |= {
            "dma_channels": random.choice((1, 2, 4)),
            "row_multiple": random.choice((1, 3, 4)),
            "column_multiple": random.choice((1, 2, 4)),
            "kernel_group": random.choice((0, 1, 5, 16)),
            "weight_buffers": random.choice((1, 2)),
        }
    return 'name = "random"\n' + "".join(f"{key} = {value}\n" for key, value in numbers.items())


def lowered(folder: Path, seed: int, pipeline: str) -> ModuleOp:
    """The loops of a random network.

    With DMA, the machine has little memory; while that is too little, the bytes that the message
    names.
    """
    dma, found = pipeline in WITH_DMA, list[ModuleOp]()
    sram_bytes = Random(seed).choice((500, 2000, 8000)) if dma else 4000000
    (folder / "net.onnx").write_bytes(network(seed).SerializeToString())
    while True:
        (folder / "machine.toml").write_text(machine(Random(seed), sram_bytes, dma=dma))
        job = Job(
            folder / "net.onnx",
            str(folder / "machine.toml"),
            pipeline=pipeline,
            strategy="greedy" if pipeline == "unlu2020" else None,
            observers=(lambda _, module: found.append(module),),
        )
        try:
            compile_model(job)
        except DiagnosticException as error:
            needed = NEEDED.search(str(error))
            if needed is None or int(needed[1]) <= sram_bytes:
                raise
            sram_bytes = int(needed[1])
        else:
            return found[-1]
