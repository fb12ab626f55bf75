"""What single ops cost on the virtual clock."""

from __future__ import annotations

from fractions import Fraction

import pytest

from helpers.parsing import parse
from npu_dialect.dma import StartOp
from npu_passes.analysis.timed_ops import NotTimed, arithmetic_of, moved_by, task_of
from npu_plans.time.rates import Rates

RATES = Rates({"f32": Fraction(1), "i8": Fraction(4)}, Fraction(1))


@pytest.mark.parametrize(
    ("layer", "cycles"),
    [
        # 4 elements are read and written; with an accumulator they are read once more.
        (
            "npu.relu ins(%a : memref<1x4xf32>) outs(%b : memref<1x4xf32>)",
            16 + 16,
        ),
        (
            "npu.fully_connected ins(%a, %w : memref<1x4xf32>, memref<4x4xf32>) "
            "outs(%b : memref<1x4xf32>) accumulate",
            16 + 64 + 2 * 16,
        ),
    ],
)
def test_bytes_on_chip(layer: str, cycles: int) -> None:
    arguments = "%a : memref<1x4xf32>, %b : memref<1x4xf32>, %w : memref<4x4xf32>"
    module = parse(f"func.func @f({arguments}) {{ {layer} func.return }}")
    (op,) = (op for op in module.walk() if op.name.startswith("npu."))
    task = task_of(op, RATES)
    assert task is not None
    assert task.cycles(RATES) == cycles


@pytest.mark.parametrize(
    ("element", "name"), [("f32", "f32"), ("i8", "i8"), ("ui8", "i8"), ("i4", "i8"), ("f64", "f64")]
)
def test_which_rate_an_element_type_has(element: str, name: str) -> None:
    type_ = f"memref<1x4x{element}>"
    module = parse(f'func.func @f(%a : {type_}) {{ "test.op"(%a) : ({type_}) -> () func.return }}')
    (op,) = (op for op in module.walk() if op.name == "test.op")
    assert arithmetic_of(op) == name


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        ("memref<2x3x4xf32, #npu.dram>", 1),
        ("memref<2x3x4xf32, strided<[24, 4, 1]>, #npu.dram>", 2),
        ("memref<2x3x4xf32, strided<[24, 8, 1]>, #npu.dram>", 6),
        ("memref<2x3x4xf32, strided<[24, 8, 2]>, #npu.dram>", 24),
    ],
)
def test_runs_of_a_transfer(source: str, runs: int) -> None:
    target = "memref<2x3x4xf32, #npu.sram>"
    module = parse(f"""func.func @f(%x : {source}, %a : {target}) {{
        %t = dma.start %x to %a channel 0 : {source} to {target}
        dma.wait %t
        func.return }}""")
    (op,) = (op for op in module.walk() if isinstance(op, StartOp))
    assert moved_by(op) == (96, runs)


def test_strides_that_nobody_knows() -> None:
    source, target = "memref<2x4xf32, strided<[?, 1]>, #npu.dram>", "memref<2x4xf32, #npu.sram>"
    module = parse(f"""func.func @f(%x : {source}, %a : {target}) {{
        %t = dma.start %x to %a channel 0 : {source} to {target}
        dma.wait %t
        func.return }}""")
    (op,) = (op for op in module.walk() if isinstance(op, StartOp))
    with pytest.raises(NotTimed, match="expected static strides, got memref<2x4xf32, strided"):
        moved_by(op)
