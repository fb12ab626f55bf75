"""The virtual clock of `npu_dma.h` follows the rules of `npu_plans/time/clock.py`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from helpers.time_programs import RANDOM_RATES, bodies
from npu_passes.emit.c import off_chip
from npu_plans.time.program import Body, Rename, Start, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of
from npu_plans.time.stepping import steps

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")

MAIN = """
#include <stdio.h>
#include "npu_dma.h"
static npu_dma dma;
npu_dma_token t[64], u[64];
static unsigned char from[4096], to[4096];

static npu_dma_token start(size_t bytes, size_t runs)
{{
    npu_dma_shape shape = {{0, 1, {{{{0, 0, 0}}}}}};
    shape.bytes = bytes;
    shape.axis[0].count = runs;
    return npu_dma_start(&dma, 0, NPU_DMA_READ, to, from, &shape);
}}

int main(void)
{{
    (void)start;
    npu_dma_init(&dma);
{body}
    printf("%llu %llu %u\\n", (unsigned long long)dma.clock.compute,
           (unsigned long long)dma.clock.exposed, (unsigned)npu_dma_mistakes(&dma));
    return 0;
}}
"""


def unrolled(program: Body) -> Body:
    """The steps of a program; each transfer has a whole number of bytes in each run."""
    return tuple(
        replace(step, bytes=step.bytes * step.runs) if isinstance(step, Start) else step
        for step in steps(program)
    )


def statements(program: Body) -> Iterator[str]:
    """The program in C."""
    for step in program:
        match step:
            case Work():
                yield f"npu_dma_work(&dma, {step.cycles}u);"
            case Start():
                yield f"t[{step.token}] = start({step.bytes // step.runs}u, {step.runs}u);"
            case Wait():
                yield f"npu_dma_wait(&dma, t[{step.token}]);"
            case Rename():
                yield from (f"u[{new}] = t[{old}];" for old, new in step.pairs)
                yield from (f"t[{new}] = u[{new}];" for _, new in step.pairs)
            case _:
                raise AssertionError(step)


def run(program: Body, rates: Rates) -> tuple[int, ...]:
    """Computing and waiting cycles, and mistakes, of a program in C."""
    macros = {
        "CHANNELS": rates.channels,
        "SETUP": f"{rates.setup}u",
        "JUMP": f"{rates.jump}u",
        "BYTES": f"{rates.dma_bytes_per_cycle.numerator}u",
        "CYCLES": f"{rates.dma_bytes_per_cycle.denominator}u",
    }
    defined = [f"-DNPU_DMA_CLOCK_{key}={value}" for key, value in macros.items()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "npu_dma.h").write_text(off_chip.runtime(), encoding="utf-8")
        body = "\n".join(f"    {line}" for line in statements(program))
        (folder / "main.c").write_text(MAIN.format(body=body), encoding="utf-8")
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DNPU_DMA_CLOCK"]
        command = ["cc", *strict, *defined, "main.c", "-o", "main"]
        subprocess.run(command, cwd=folder, check=True)
        done = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(bodies(), RANDOM_RATES)
def test_c_and_python_have_one_clock(program: Body, rates: Rates) -> None:
    flat = unrolled(program)
    whole = total_of(simulate(flat, rates))
    assert run(flat, rates) == (whole.compute, whole.exposed, 0)


def test_more_transfers_than_the_clock_can_follow_are_mistakes() -> None:
    rates = Rates({}, Fraction(1), Fraction(1), channels=1)
    most = 32
    program = tuple(Start(token, 8) for token in range(most + 1))
    assert run(program, rates) == (0, 0, 1)
