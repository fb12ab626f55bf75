"""Modules that do not fit on the machine: `npu-plan-modules{misfit=leave}`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.utils.exceptions import PassFailedException

from helpers.networks.zoo import TINY, build
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_plans.modules.traffic import total
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.compiling.remarks import remarks
from npu_tools.importers.onnx import import_model
from npu_tools.reports.module_report import analyze_modules, planned_report
from npu_tools.reports.module_table import module_table
from npu_tools.shared.installed import available_passes, context

SRAM = 1500
"""Bytes of SRAM with which only some modules of a very small SqueezeNet can be planned."""


def squeezenet(options: str) -> ModuleOp:
    model = build("squeezenet1_1", **TINY["squeezenet1_1"])
    module = import_model(model.SerializeToString(), name="squeezenet", base_dir=None)
    machine = replace(Machine.load("exynos-npu"), sram_bytes=SRAM)
    TARGET.set(module, TargetAttr.of(machine))
    text = (
        "npu-plan-as,npu-fuse-conv-relu-pool{overlap=none},npu-detect-modules,"
        f"npu-reorder-branches,npu-plan-modules{{{options}}}"
    )
    PassPipeline(parse_passes(available_passes(), text)).apply(context(), module)
    module.verify()
    return module


def test_a_misfit_is_an_error() -> None:
    with pytest.raises(PassFailedException, match=r"needs \d+ bytes of SRAM at least, exynos-npu"):
        squeezenet("misfit=reject")


def test_left_modules_count_layer_by_layer() -> None:
    module = squeezenet("misfit=leave")
    said = [remark for remark in remarks(module) if "not planned: " in remark]
    report = analyze_modules(module)
    assert report is not None
    left = [each for each in report.modules if each.policy == "none"]
    assert 0 < len(left) < len(report.modules)
    assert [each.name for each in left] == [remark.split(":")[0] for remark in said]
    for each in left:
        assert each.off_chip.feature_map_reads == each.naive.feature_map_reads
        assert each.peak_bytes == 0
    assert total(each.naive for each in report.modules).weight_bytes == (
        total(each.off_chip for each in report.modules).weight_bytes
    )
    whole = planned_report(module)
    assert whole is not None
    (line,) = (line for line in module_table(whole) if line.startswith("without a plan"))
    assert line.endswith(", ".join(each.name for each in left))
