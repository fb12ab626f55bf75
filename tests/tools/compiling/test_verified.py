"""The quick verifier rejects what xDSL rejects, also when it has seen a right op like it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from helpers.paths import LENET5
from helpers.reference import parsed
from npu_dialect.contract import check_attributes
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.compiling.verified import Verifier
from npu_tools.shared.installed import available_passes, only_reads

TEXT = """
builtin.module {
  func.func private @f(%x: memref<4xf32>, %i: index) {
    %a = memref.load %x[%i] : memref<4xf32>
    %b = arith.addf %a, %a : f32
    %c = arith.addf %b, %a : f32
    memref.store %c, %x[%i] : memref<4xf32>
    %n = arith.constant 1 : i32
    %m = arith.addi %n, %n : i32
    func.return
  }
  func.func @g(%x: memref<4xf32>, %i: index) {
    func.call @f(%x, %i) : (memref<4xf32>, index) -> ()
    %r = scf.for %j = %i to %i step %i iter_args(%s = %i) -> (index) {
      %c = arith.cmpi slt, %s, %i : index
      %t = scf.if %c -> (index) {
        scf.yield %s : index
      } else {
        scf.yield %i : index
      }
      scf.yield %t : index
    }
    func.call @f(%x, %i) : (memref<4xf32>, index) -> ()
    func.return
  }
}
"""


def find(module: ModuleOp, kind: type[Operation], index: int = 0) -> Operation:
    """One of the ops of a class."""
    return [op for op in module.walk() if isinstance(op, kind)][index]


def set_type(op: Operation, type_: Attribute) -> None:
    Rewriter.replace_value_with_new_type(op.results[0], type_)


def set_argument(module: ModuleOp, index: int) -> None:
    """Give an argument of the first loop another type."""
    Rewriter.replace_value_with_new_type(block_of(module, scf.ForOp).args[index], i32)


def drop_terminator(module: ModuleOp) -> None:
    last = find(module, func.ReturnOp)
    last.detach()
    last.erase()


def erase_operand(module: ModuleOp) -> None:
    load = find(module, memref.LoadOp)
    load.detach()
    load.erase(safe_erase=False)


def block_of(module: ModuleOp, kind: type[Operation]) -> Block:
    return find(module, kind).regions[0].blocks[0]


def yield_of(module: ModuleOp, kind: type[Operation], other: type[Operation]) -> None:
    """Let the first block of an op yield the result of another op."""
    yield_in(module, kind).operands = find(module, other).results


def yield_in(module: ModuleOp, kind: type[Operation]) -> Operation:
    """The terminator of the first block of an op."""
    last = block_of(module, kind).last_op
    assert last is not None
    return last


def block_of_function(module: ModuleOp, index: int) -> Block:
    return find(module, func.FuncOp, index).regions[0].blocks[0]


def add_argument(module: ModuleOp) -> None:
    block_of_function(module, 1).insert_arg(f32, 0)


def mix(module: ModuleOp, index: SSAValue) -> None:
    """Let a function use an index as well."""
    load = find(module, memref.LoadOp)
    load.operands = [load.operands[0], index]


FAULTS: dict[str, Callable[[ModuleOp], None]] = {
    "result of another type": lambda m: set_type(find(m, arith.AddfOp), i32),
    "operand of another type": lambda m: set_type(find(m, memref.LoadOp), i8),
    "property of another kind": lambda m: find(m, arith.AddfOp, 1).properties.update(
        fastmath=StringAttr("x")
    ),
    "property that is not known": lambda m: find(m, arith.AddfOp, 1).properties.update(
        what=UnitAttr()
    ),
    "no property": lambda m: find(m, arith.ConstantOp).properties.clear(),
    "constant of another type": lambda m: find(m, arith.ConstantOp).properties.update(
        value=IntegerAttr(1, i8)
    ),
    "too few operands": lambda m: setattr(
        find(m, arith.AddfOp, 1), "operands", find(m, arith.AddfOp, 1).operands[:1]
    ),
    "no terminator": drop_terminator,
    "an argument of another function": lambda m: mix(m, block_of_function(m, 1).args[1]),
    "a result of another function": lambda m: mix(m, find(m, scf.ForOp).results[0]),
    "an argument that the function's type lacks": add_argument,
    "a property that functions lack": lambda m: find(m, func.FuncOp).properties.update(
        what=UnitAttr()
    ),
    "an erased operand": erase_operand,
    "a callee of another type": lambda m: setattr(
        find(m, func.FuncOp), "function_type", FunctionType.from_lists([MemRefType(f32, [4])], [])
    ),
    "a function that returns more than its return": lambda m: setattr(
        find(m, func.FuncOp, 1),
        "function_type",
        FunctionType.from_lists(block_of_function(m, 1).arg_types, [f32]),
    ),
    "no callee": lambda m: find(m, func.CallOp, 1).properties.update(callee=SymbolRefAttr("h")),
    "a loop that yields another type": lambda m: yield_of(m, scf.ForOp, arith.CmpiOp),
    "a loop variable of another type": lambda m: set_argument(m, 0),
    "a carried value of another type": lambda m: set_argument(m, 1),
    "a yield outside of loops": lambda m: Rewriter.replace_op(
        find(m, func.ReturnOp), scf.YieldOp()
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_xdsl_rejects_is_rejected(fault: str) -> None:
    module, verifier = parsed(TEXT), Verifier()
    verifier.verify(module)
    verifier.verify(module)
    FAULTS[fault](module)
    with pytest.raises((VerifyException, ValueError)) as expected:
        module.verify()
    with pytest.raises(type(expected.value)) as caught:
        verifier.verify(module)
    assert str(caught.value) == str(expected.value)


def test_what_has_changed() -> None:
    """A function that an attribute is put into has changed; what it calls and its callers not."""
    module, verifier = parsed(TEXT), Verifier()
    callee, caller = (find(module, func.FuncOp, index) for index in range(2))
    assert not verifier.verify(module)
    assert verifier.verify(module) == {callee, caller}
    find(module, arith.AddfOp).attributes["npu.rums"] = UnitAttr()
    assert verifier.verify(module) == {caller}
    with pytest.raises(VerifyException, match=r"unknown attribute npu\.rums"):
        check_attributes(module, {caller})
    check_attributes(module, {callee})
    assert verifier.verify(module) == {callee, caller}


def test_a_callee_that_has_changed_changes_its_callers() -> None:
    module, verifier = parsed(TEXT), Verifier()
    verifier.verify(module)
    callee = find(module, func.FuncOp)
    assert isinstance(callee, func.FuncOp)
    block = callee.body.block
    block.insert_arg(f32, 2)
    callee.function_type = FunctionType.from_lists(block.arg_types, [])
    with pytest.raises(VerifyException):
        verifier.verify(module)


def test_an_op_that_has_moved() -> None:
    """An op that follows the block in which it was looks the same in the order of the text."""
    module, verifier = parsed(TEXT), Verifier()
    constant = arith.ConstantOp(IntegerAttr(1, i32))
    block_of(module, scf.IfOp).insert_op_before(constant, yield_in(module, scf.IfOp))
    assert not verifier.verify(module) - {find(module, func.FuncOp)}
    branch = find(module, scf.IfOp)
    constant.detach()
    block_of(module, scf.ForOp).insert_op_after(constant, branch)
    assert verifier.verify(module) == {find(module, func.FuncOp)}


@pytest.mark.slow
def test_modules_of_a_compilation(tmp_path: object) -> None:
    """After each pass, both accept the module, and both reject it when one op is changed."""
    verifier, seen = Verifier(), list[str]()

    def both(step: str, module: ModuleOp) -> None:
        module.verify()
        verifier.verify(module)
        copy = module.clone()
        loads = [op for op in copy.walk() if isinstance(op, memref.LoadOp)]
        if loads:
            seen.append(step)
            set_type(loads[-1], i8)
            for check in (copy.verify, lambda: verifier.verify(copy)):
                with pytest.raises(VerifyException):
                    check()

    compile_model(Job(LENET5, "host", observers=(both,)))
    assert seen == [
        *("npu-lower-to-loops", "npu-share-constants", "npu-share-functions"),
        *("npu-check-overlays", "npu-store-constants", "npu-outline-rows"),
    ]


@pytest.mark.slow
def test_passes_that_only_read_change_nothing() -> None:
    texts: dict[str, str] = {}
    compile_model(Job(LENET5, "host", observers=(lambda step, m: texts.update({step: str(m)}),)))
    steps, readers = list(texts), {name for name in available_passes() if only_reads(name)}
    assert readers == {"npu-check-overlays"}
    for before, after in pairwise(steps):
        assert after not in readers or texts[before] == texts[after]
