"""LeNet-5 as an object of LLVM on an emulated Cortex-M4 computes what our C computes there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.c_harness import write_files
from helpers.emulated import require
from helpers.networks.int8 import saved_int8
from helpers.paths import ROOT
from helpers.upstream import PREFIX, Both, compiled_both, needs_llvm
from npu_tools.verifying.emulators import EmulatedRun, Interface, run_on
from npu_tools.verifying.upstream import Backend

MACHINE = "cortex-m4"
LENET5 = ROOT / "examples" / "lenet5" / "lenet5.onnx"


def runs(both: Both, folder: Path) -> tuple[EmulatedRun, EmulatedRun]:
    """A run of our C, and one of LLVM's object."""
    source = folder / f"{PREFIX}.c"
    write_files(folder, both.files, PREFIX)
    names = [each.name for each in Interface.read(folder / f"{PREFIX}.h").inputs]
    inputs = dict(zip(names, both.inputs(), strict=True))
    (ours,) = run_on(MACHINE, source, [inputs]).runs
    both.build_object(folder / "upstream.o", Backend.of(MACHINE))
    source.write_text(both.adapter, encoding="utf-8")
    (theirs,) = run_on(MACHINE, [source, folder / "upstream.o"], [inputs], stack_bytes=4096).runs
    return ours, theirs


@pytest.mark.parametrize("kind", [pytest.param("float", marks=pytest.mark.slow), "int8"])
def test_lenet5_on_a_cortex_m4(kind: str, tmp_path: Path) -> None:
    needs_llvm()
    require(MACHINE)
    model = saved_int8(tmp_path, "lenet5") if kind == "int8" else LENET5
    ours, theirs = runs(compiled_both(model, MACHINE), tmp_path)
    for name, wanted in ours.outputs.items():
        assert np.std(wanted.astype(np.float64)) > 0
        if kind == "int8":
            np.testing.assert_array_equal(theirs.outputs[name], wanted)
        else:
            largest = float(np.abs(wanted).max())
            np.testing.assert_allclose(theirs.outputs[name], wanted, rtol=0, atol=1e-5 * largest)
    assert 0 < theirs.instructions < 3 * ours.instructions
