"""The ways to compile a network that may need less SRAM than the way that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from npu_dialect.machine import Machine
from npu_passes.pipelines import DEFAULT, pipeline_for
from npu_tools.advice.entries import Kind
from npu_tools.compiling.driver import Job

PIPELINES = (DEFAULT, "rows")
"""Pipelines for machines without DMA that may need less SRAM than another one."""
OFF_CHIP_PIPELINES = (DEFAULT, "tails")
"""The same for machines with DMA."""


@dataclass(frozen=True)
class Way:
    """A change of options. `changes`: its parts, of which a part may be enough for another way."""

    kind: Kind
    changes: frozenset[str]
    job: Job

    @property
    def option(self) -> str:
        """The changes in the words of the command line."""
        return " ".join(sorted(self.changes, key=lambda text: (text.startswith("--"), text)))


INT8 = "int8 (npu-quantize)"
STREAM_INPUT, IO_INT8 = "--stream-input", "--io int8"


def ways_of(job: Job, machine: Machine, *, is_float: bool) -> Iterator[Way]:
    """The ways to try, the cheapest first.

    Another pipeline changes nothing for the caller of the C, integers at its inputs and outputs
    and a streamed input do, and a quantised network computes other numbers.
    """
    quantised = [False, True] if is_float and job.plan_as is None else [False]
    streams = [False] if machine.dma_channels or job.stream_input else [False, True]
    integers = [False] if is_float or job.io == "int8" else [False, True]
    pipelines = [None, *other_pipelines(job, machine)]
    yield from fewer_options(job)
    for int8, streamed, io, pipeline in product(quantised, streams, integers, pipelines):
        changes = {
            f"--pipeline {pipeline}": pipeline is not None,
            IO_INT8: io,
            STREAM_INPUT: streamed,
            INT8: int8,
        }
        made = frozenset(text for text, is_made in changes.items() if is_made)
        if made:
            other = replace(
                job,
                pipeline=pipeline or job.pipeline,
                io="int8" if io else job.io,
                stream_input=job.stream_input or streamed,
                plan_as="i8" if int8 else job.plan_as,
            )
            yield Way("int8" if int8 else "options", made, other)


def other_pipelines(job: Job, machine: Machine) -> list[str]:
    """The pipelines that may need less SRAM than that of a job."""
    known = OFF_CHIP_PIPELINES if machine.dma_channels else PIPELINES
    asked = pipeline_for(job.pipeline, machine)
    return [name for name in known if pipeline_for(name, machine) != asked]


def fewer_options(job: Job) -> Iterator[Way]:
    """The ways that leave out an option that may cost SRAM."""
    if job.overlap is not None:
        yield Way("options", frozenset({"no --overlap"}), replace(job, overlap=None))
    if job.strategy is not None:
        yield Way("options", frozenset({"no --strategy"}), replace(job, strategy=None))
    if job.weights_in_sram is not None:
        yield Way(
            "options", frozenset({"no --weights-in-sram"}), replace(job, weights_in_sram=None)
        )
