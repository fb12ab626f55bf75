"""What a comparison with onnxruntime has found: errors of outputs, layers that are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.reports.report import Report
from npu_tools.verifying.layer_by_layer import Layers

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class OutputErrors:
    """The largest errors of one output over all samples."""

    name: str
    absolute: float
    relative: float
    ulp: int
    steps: float | None = None
    """The largest difference in quantisation steps; None if the output is not quantised."""
    allowed_steps: float = 0
    optimised_steps: float | None = None
    """The same from onnxruntime with its optimiser; None if that was not run."""

    @property
    def close(self) -> bool:
        """Whether the output is within the tolerance."""
        if self.steps is not None:
            return self.steps <= self.allowed_steps + 0.5
        return self.relative <= RELATIVE

    def __str__(self) -> str:
        """One line with the errors."""
        if self.steps is not None:
            text = f"verify {self.name}: largest error {self.steps:.0f} quantisation steps"
            if self.optimised_steps is None:
                return text
            return f"{text}, {self.optimised_steps:.0f} with onnxruntime's optimiser"
        return (
            f"verify {self.name}: largest error {self.absolute:.3e} absolute, "
            f"{self.relative:.3e} relative, {self.ulp} ULP"
        )


@dataclass(frozen=True)
class Verified:
    """The result of a comparison; `first_layer` is the first layer that differs, if one does.

    `layers` is the judgement on single layers, which decides if there is one. `counters` are those
    of the transfers, if the program has some. `miscount` is a text on the first counter that is not
    as reported; None if all are. `at_most`: the most bytes of maps that may move, if the program
    leaves out zero blocks.
    """

    samples: int
    outputs: tuple[OutputErrors, ...]
    first_layer: str | None = None
    layers: Layers | None = None
    counters: Mapping[str, int] | None = None
    miscount: str | None = None
    reference: str = "onnxruntime"
    """What the C was compared with."""
    at_most: int | None = None

    @property
    def close(self) -> bool:
        """Whether all layers are right, or else whether all outputs are within the tolerance."""
        if self.layers is not None:
            return self.layers.first_wrong is None
        return all(output.close for output in self.outputs)

    @property
    def agrees(self) -> bool:
        """Whether all outputs are within the tolerance, and all counters are as reported."""
        return self.close and self.miscount is None

    @property
    def lines(self) -> list[str]:
        """Lines with the errors of each output, and one for each check that passed."""
        good = [f"verify: agrees with {self.reference} (samples: {self.samples})"]
        layers = [] if self.layers is None or not self.close else [self.layers.line]
        return [*map(str, self.outputs), *layers, *good * self.close, *self.moved]

    @property
    def moved(self) -> list[str]:
        """A line on what crossed the border of the chip, if that is as reported."""
        if self.counters is None or self.miscount is not None:
            return []
        if self.at_most is None:
            return ["verify: moved over the border of the chip what the report says"]
        size = sum(self.counters[key] for key in IN_BLOCKS)
        return [
            f"verify: moved {size} bytes of maps over the border of the chip, at most "
            f"{self.at_most} as the report says"
        ]

    @property
    def complaint(self) -> str:
        """The message if the comparison failed."""
        if self.close:
            return f"--verify: {self.miscount}; nothing was written"
        limit = "ties explain" if self.layers else f"{RELATIVE:.0e} relative"
        worst = next((output for output in self.outputs if not output.close), None)
        if worst is not None and worst.steps is not None and self.layers is None:
            limit = f"{worst.allowed_steps:.0f} quantisation steps"
        return (
            f"--verify: differs from {self.reference} by more than {limit}; "
            f"the first layer that differs is {self.first_layer}; nothing was written"
        )

    def as_dict(self) -> dict[str, Any]:
        """The key `verify` of report.json."""
        counted = {} if self.counters is None else {"counters": dict(self.counters)}
        return {
            "samples": self.samples,
            "tolerance": RELATIVE,
            "outputs": [vars(output) for output in self.outputs],
            **({} if self.layers is None else {"layers": vars(self.layers)}),
            **counted,
        }


def output_errors(
    name: str, got: Array, want: Array, step: float | None = None, allowed: int = 0
) -> OutputErrors:
    """The largest errors of an output over all samples, which are the first axis."""
    with np.errstate(invalid="ignore"):
        absolute = np.abs(got.astype(np.float64) - want.astype(np.float64))
    absolute[got == want] = 0.0
    return OutputErrors(
        name,
        float(absolute.max(initial=0.0)),
        max(relative_error(one, two) for one, two in zip(got, want, strict=True)),
        int(np.abs(ordered(got) - ordered(want)).max(initial=0)),
        None if step is None else float(absolute.max(initial=0.0)) / step,
        allowed,
    )


def ordered(values: Array) -> npt.NDArray[np.int64]:
    """Map float32 numbers to integers in the same order; neighbours differ by 1, zeros are 0."""
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(2**31) - bits, bits)


IN_BLOCKS = frozenset(("feature_map_read_bytes", "feature_map_write_bytes"))
"""Counters that may be smaller than reported if transfers are in blocks."""


def most_moved(report: Report) -> int | None:
    """The most bytes of maps that a run may move; None if they do not depend on zero blocks."""
    if not report.off_chip_at_most:
        return None
    return sum(vars(report.off_chip)[key] for key in IN_BLOCKS)


def first_miscount(counters: Mapping[str, int], report: Report) -> str | None:
    """A text on the first counter that differs from the report; None if none does."""
    for key, expected in vars(report.off_chip).items():
        fewer = report.off_chip_at_most and key in IN_BLOCKS and counters[key] <= expected
        if counters[key] != expected and not fewer:
            most = "at most " if report.off_chip_at_most and key in IN_BLOCKS else ""
            return f"{key}: the run has counted {counters[key]}, report.json says {most}{expected}"
    return None
