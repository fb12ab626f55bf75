"""--verify of programs with transfers: they run with a strict engine, and are counted."""

import shutil
from dataclasses import fields, replace

import pytest
from onnx import TensorProto, helper
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline

from npu_dialect.interpreters import Counters, run_function
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.placing.assign_dram_offsets import AssignDramOffsetsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_plans.modules.traffic import Traffic
from npu_tools.compiling.c_files import emit
from npu_tools.compiling.driver import Compiled
from npu_tools.reports.report import Report, report_of
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context
from npu_tools.verifying.samples import random_samples
from npu_tools.verifying.verify import verify

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")

MAP, ROWS = "memref<1x2x6x5xf32, #npu.dram>", "memref<1x2x3x5xf32, #npu.sram>"
VIEW = "memref<1x2x3x5xf32, strided<[60, 30, 5, 1], offset: ?>, #npu.dram>"
BODY = f"""
  func.func @net(%x: {MAP} {{dram.input, npu.name = "x"}},
                 %y: {MAP} {{dram.output, npu.name = "y"}}) {{
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    dma.reads %x : {MAP}
    dma.writes %y : {MAP}
    scf.for %row = %c0 to %c6 step %c3 {{
      %from = memref.subview %x[0, 0, %row, 0] [1, 2, 3, 5] [1, 1, 1, 1] : {MAP} to {VIEW}
      %to = memref.subview %y[0, 0, %row, 0] [1, 2, 3, 5] [1, 1, 1, 1] : {MAP} to {VIEW}
      %tile = sram.alloc : {ROWS}
      %in = dma.start %from to %tile channel 1 : {VIEW} to {ROWS}
      WAIT
      npu.relu ins(%tile : {ROWS}) outs(%tile : {ROWS}) {{npu.layer = "relu", npu.value = "y"}}
      %out = dma.start %tile to %to channel 3 : {ROWS} to {VIEW}
      dma.wait %out
    }}
    func.return
  }}"""
COUNTS = Counters(0, 240, 240, 1, 1, 4)
"""Two halves of 2 x 3 x 5 float32 move each way."""


def compiled(body: str) -> Compiled:
    """The program and its model, a single ReLU."""
    module = Parser(context(), body).parse_module()
    module.verify()
    reports: list[Report] = []

    def after(previous: ModulePass | None, *_: object) -> None:
        if isinstance(previous, AssignDramOffsetsPass):
            reports.append(report_of(module))

    passes = (
        AssignSramOffsetsPass(),
        AssignDramOffsetsPass(),
        OutlineLayersPass(),
        LowerToLoopsPass(),
    )
    PassPipeline(passes, after).apply(context(), module)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 2, 6, 5)) for n in "xy"]
    node = helper.make_node("Relu", ["x"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "net", ports[:1], ports[1:]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    return Compiled("net", reports[0], emit(module, "net", "c", False), model)


def test_counters_come_back() -> None:
    result = verify(compiled(BODY.replace("WAIT", "dma.wait %in")), None, 0)
    assert result.agrees
    assert result.counters == vars(COUNTS)
    assert result.as_dict()["counters"]["transfers"] == 4


@pytest.mark.parametrize("key", [field.name for field in fields(Traffic)])
def test_a_run_that_moves_something_else_than_reported_is_found(key: str) -> None:
    made = compiled(BODY.replace("WAIT", "dma.wait %in"))
    counted = vars(COUNTS)[key]
    traffic = replace(made.report.off_chip, **{key: counted + 4})
    wrong = replace(made, report=replace(made.report, off_chip=traffic))
    result = verify(wrong, None, 0)
    assert not result.agrees
    expected = f"{key}: the run has counted {counted}, report.json says {counted + 4}"
    assert result.complaint == f"--verify: {expected}; nothing was written"
    assert len(result.lines) == 2  # a line with the error of y, and one with the verdict


def test_the_interpreter_counts_the_same() -> None:
    module = Parser(context(), BODY.replace("WAIT", "dma.wait %in")).parse_module()
    report = compiled(BODY.replace("WAIT", "dma.wait %in")).report
    counters = Counters()
    run_function(module, None, [each[0] for each in random_samples(report, 0)], counters)
    assert counters == COUNTS


def test_a_missing_wait_is_found() -> None:
    with pytest.raises(UserError, match="made a mistake with its transfers"):
        verify(compiled(BODY.replace("WAIT", "")), None, 0)


def test_a_wait_that_comes_too_late_is_found() -> None:
    late = BODY.replace("WAIT", "").replace("dma.wait %out", "dma.wait %out\ndma.wait %in")
    with pytest.raises(UserError, match="made a mistake with its transfers"):
        verify(compiled(late), None, 0)
