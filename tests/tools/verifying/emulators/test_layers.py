"""Instructions of single layers, counted by the hook on emulated boards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.paths import LENET5
from npu_dialect.machine import Machine
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import EmulatorError, Result, run_on

IMAGE = {"image": np.linspace(0, 1, 1024, dtype=np.float32)}

SOURCE = """\
#include "tiny.h"
#ifndef TINY_ON_LAYER
#define TINY_ON_LAYER(index, name) ((void)0)
#endif
int tiny_run(const float *input, float *output, void *arena) {
  int part;
  (void)input; (void)output; (void)arena;
  for (part = 0; part < PARTS; ++part) {
    __asm__ volatile(NOPS(100));
    TINY_ON_LAYER(0, "parts");
    __asm__ volatile(NOPS(7));
    TINY_ON_LAYER(1, "others");
  }
  __asm__ volatile(NOPS(1000));
  TINY_ON_LAYER(2, "last");
  return 0;
}
"""
NOPS = '-DNOPS(n)=".rept " #n "\\n nop\\n .endr"'


def tiny(machine: str, folder: Path, parts: int) -> Result:
    """Run layers of known lengths."""
    header = (Path(__file__).parent / "tiny.h").read_text(encoding="utf-8")
    (folder / "tiny.h").write_text(header, encoding="utf-8")
    (folder / "tiny.c").write_text(SOURCE, encoding="utf-8")
    flags = ["-O2", f"-DPARTS={parts}", NOPS]
    inputs = [{"input": np.zeros(16, np.float32)}] * 2
    return run_on(machine, folder / "tiny.c", inputs, flags=flags, layers=3)


def test_counts_of_layers(machine: str, tmp_path: Path) -> None:
    once, often = tiny(machine, tmp_path, 1), tiny(machine, tmp_path, 21)
    first, second = often.runs
    assert first.layers == second.layers
    few, many = once.runs[0].layers, first.layers
    # Exact except for the loop around the hooks.
    assert 20 * 100 <= many[0] - few[0] <= 20 * 105
    assert 20 * 7 <= many[1] - few[1] <= 20 * 9
    assert 1000 <= many[2] <= 1005
    assert 85 <= few[0] <= 115  # includes the call of the network, but not all of the hook


@pytest.mark.slow
def test_layers_of_lenet5(machine: str, tmp_path: Path) -> None:
    """The counts of the layers add up to the whole, which is nearly that without the hook."""
    result = compile_model(Job(LENET5, machine, prefix="net"))
    write_files(tmp_path, result.files)
    layers = result.report.layers
    counted = run_on(machine, tmp_path / "net.c", [IMAGE], layers=len(layers))
    plain = run_on(machine, tmp_path / "net.c", [IMAGE])
    assert plain.runs[0].layers == ()
    np.testing.assert_array_equal(
        counted.runs[0].outputs["scores"], plain.runs[0].outputs["scores"]
    )
    found = counted.runs[0].layers
    assert abs(sum(found) - plain.instructions) <= 100
    least = 0.25 if "mve" in Machine.load(machine).features else 1  # four products at once
    for layer, count in zip(layers, found, strict=True):
        assert least <= count / layer.macs <= 300


def test_a_wrong_number_of_layers(fe310: str) -> None:
    tiny_c = Path(__file__).parent / "tiny.c"
    with pytest.raises(EmulatorError, match="layers"):
        run_on(fe310, tiny_c, [{"input": np.zeros(16, np.float32)}], layers=-1)
