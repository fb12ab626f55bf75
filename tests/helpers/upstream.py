"""Compiles a network once with our C, and once through LLVM's tools behind `npu-to-upstream`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from helpers.builds import needs
from helpers.c_harness import run_c
from helpers.road import c_files
from npu_passes.emit.c import CFiles
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.driver import Compiled, Job
from npu_tools.compiling.printer import ir_text
from npu_tools.verifying.ports import Port, ports_of
from npu_tools.verifying.upstream import HOST, TOOLS, Backend, build_object, compile_for_upstream
from npu_tools.verifying.upstream_adapter import adapter, public_names

Array = NDArray[Any]

PREFIX = "net"


def needs_llvm() -> None:
    """Skip the test if a tool of LLVM is missing; fail it if CI=true."""
    for tool in TOOLS:
        needs(tool)


@dataclass(frozen=True)
class Both:
    """A network as our C, and as IR for LLVM; both have the same header."""

    compiled: Compiled
    files: CFiles
    module: ModuleOp

    @property
    def text(self) -> str:
        """The text of the IR for LLVM."""
        return ir_text(self.module)

    @property
    def adapter(self) -> str:
        """The C file that gives LLVM's object the interface of the header."""
        return adapter(self.module, PREFIX, self.files.header)

    def build_object(self, path: Path, backend: Backend = HOST) -> None:
        """Compile the IR to an object file with LLVM's tools."""
        build_object(self.text, public_names(self.module), path, backend)

    @property
    def ports(self) -> list[Port]:
        """The inputs, then the outputs."""
        report = self.compiled.report
        return ports_of(self.files.header, len(report.inputs) + len(report.outputs))

    def inputs(self, seed: int = 1) -> list[Array]:
        """Random numbers for the inputs, as the C takes them."""
        generator = np.random.default_rng(seed)
        shapes = self.compiled.report.inputs.values()
        return [
            port.stored(generator.standard_normal(shape).astype(np.float32))
            for port, shape in zip(self.ports, shapes, strict=False)
        ]


def compiled_both(model: Path, target: str, pipeline: str = "default", **options: Any) -> Both:
    """Compile a model for a machine; `options` are those of `npu-to-upstream`."""
    job = Job(model, target, prefix=PREFIX, pipeline=pipeline, weights="c")
    compiled, module = compile_for_upstream(job, ToUpstreamPass(**options))
    return Both(compiled, c_files(compiled), module)


def run_both(
    both: Both, folder: Path, inputs: Sequence[Array] | None = None
) -> tuple[list[Array], list[Array]]:
    """The outputs of our C, and of LLVM's object, for the same inputs on this computer.

    Without `inputs` they are random numbers.
    """
    report = both.compiled.report
    inputs, shapes = inputs or both.inputs(), list(report.outputs.values())
    types = [port.dtype.name for port in both.ports[len(inputs) :]]
    built = folder / "upstream.o"
    both.build_object(built)
    ours = run_c(both.files, PREFIX, inputs, shapes, output_types=types, sanitize=False)
    theirs = run_c(
        replace(both.files, source=both.adapter),
        PREFIX,
        inputs,
        shapes,
        output_types=types,
        sanitize=False,
        flags=("-x", "none", str(built), "-x", "c"),
    )
    return ours, theirs


def agree(both: Both, folder: Path, *, exact: bool) -> None:
    """Compare our C with LLVM's object: bit for bit, or floats up to 1e-5 of the largest.

    Raises: AssertionError if they differ, or if all outputs are equal numbers.
    """
    for ours, theirs in zip(*run_both(both, folder), strict=True):
        assert np.std(ours.astype(np.float64)) > 0
        if exact:
            np.testing.assert_array_equal(theirs, ours)
        else:
            largest = float(np.abs(ours).max())
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-5 * largest)
