"""Compiles one random network with random options, and compares its C with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from helpers.c_harness import run_c
from helpers.random_onnx import run
from npu_passes.emit.c import CFiles
from npu_passes.emit.c.off_chip import RUNTIME
from npu_tools.compiling.check import RELATIVE, MeaningCheck, relative_error
from npu_tools.compiling.driver import Compiled, Job, compile_model

Array = NDArray[np.float32]

MACHINE = 'name = "random"\nsram_bytes = 4000000\nflash_bytes = 4000000\nregisters = {}\n'
PIPELINES = ("default", "default", "rows", "fused", "naive", "unlu2020")


@dataclass(frozen=True)
class Road:
    """Random options of the compiler, and how the C is built and called."""

    registers: int
    pipeline: str
    overlap: str | None
    strategy: str | None
    weights: Literal["c", "bin"]
    weights_in_sram: int | None
    language: str
    in_arena: bool
    check_passes: bool

    @staticmethod
    def of(seed: int) -> Road:
        """The options of a seed."""
        random = Random(seed)
        pipeline = random.choice(PIPELINES)
        return Road(
            registers=random.choice((0, 16, 32)),
            pipeline=pipeline,
            overlap=None
            if pipeline == "naive"
            else random.choice((None, None, "line-buffer", "recompute", "none")),
            strategy="greedy" if pipeline == "unlu2020" else random.choice((None, "none")),
            weights=random.choice(("c", "bin")),
            weights_in_sram=random.choice((None, None, 100, 100000)),
            language=random.choice(("c", "c++")),
            in_arena=random.random() < 0.3,
            check_passes=random.random() < 0.5,
        )

    def compile(self, folder: Path, model: ModelProto, feeds: Mapping[str, Array]) -> Compiled:
        """Compile a network with these options."""
        (folder / "net.onnx").write_bytes(model.SerializeToString())
        (folder / "machine.toml").write_text(MACHINE.format(self.registers))
        check = (MeaningCheck(list(feeds.values())),) if self.check_passes else ()
        return compile_model(
            Job(
                folder / "net.onnx",
                str(folder / "machine.toml"),
                pipeline=self.pipeline,
                overlap=self.overlap,
                strategy=self.strategy,
                weights=self.weights,
                weights_in_sram=self.weights_in_sram,
                observers=check,
            )
        )


def travel(folder: Path, model: ModelProto, feeds: Mapping[str, Array], road: Road) -> None:
    """Compile, run, and compare with onnxruntime.

    Raises: AssertionError if an output differs, or the C does not build or leaves its arena.
    """
    wanted = run(model, dict(feeds))
    compiled = road.compile(folder, model, feeds)
    got = run_c(
        c_files(compiled),
        "net",
        [feeds[name] for name in compiled.report.inputs],
        [value.shape for value in wanted],
        language=road.language,
        in_arena=road.in_arena,
    )
    outputs = [value.name for value in model.graph.output]
    assert list(compiled.report.outputs) == outputs
    for name, one, other in zip(outputs, got, wanted, strict=True):
        error = relative_error(one, other)
        assert error <= RELATIVE, f"{name}: {error:.2e}, {road}"


def c_files(compiled: Compiled) -> CFiles:
    """The C program of a compilation."""
    files, name = compiled.files, compiled.name
    weights = files.get(f"{name}_weights.bin")
    assert weights is None or isinstance(weights, bytes)
    runtime = files.get(RUNTIME)
    return CFiles(
        source=str(files[f"{name}.c"]),
        header=str(files[f"{name}.h"]),
        weights=weights,
        runtime=None if runtime is None else str(runtime),
        arena_bytes=compiled.report.memory.arena_bytes,
        prefix=name,
    )
