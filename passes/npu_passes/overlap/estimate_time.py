"""`npu-estimate-time`: write down how many cycles a program takes, and each of its layers.

    %t = dma.start %w to %v channel 0 {npu.layer = "conv1"} : ...
    dma.wait %t
    npu.conv2d ins(%x, %v : ...) outs(%y : ...) {npu.layer = "conv1"}
becomes
    npu.conv2d ins(%x, %v : ...) outs(%y : ...) {npu.layer = "conv1", npu.cycles = {
        compute = 900 : i64, transfer = 460 : i64, exposed = 460 : i64, total = 1360 : i64}}

Level of IR: layers on buffers, with `dma.start`, `memref.dma_start` or `memref.copy`, before layers
become loops. `npu_plans/time` has the model: a core, the channels of a DMA engine, and a bus that
these share. The numbers of the machine come from `npu.target`.

The cycles of a layer are those of all ops and transfers with its name. They stand on its first op.
Functions that no other one calls get the sum of all. Of a function that cannot be counted, nothing
is guessed: it gets `npu.not_timed`, which says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import CallOp, FuncOp

from npu_dialect.target import machine_of
from npu_dialect.time_attributes import CYCLES, NOT_TIMED
from npu_dialect.walking import walk
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.timed_program import read_program
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.time.rates import Rates, UnknownRate
from npu_plans.time.simulate import Cycles, ProgramError, simulate, total_of


@dataclass(frozen=True)
class EstimateTimePass(RefusingPass):
    """Write down the cycles of functions and layers; see the module."""

    name = "npu-estimate-time"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the cycles of all functions.

        Raises: Refusal if the module has no machine, or one without numbers of time.
        """
        rates = rates_of(op)
        for each in walk(op):
            CYCLES.drop(each)
            NOT_TIMED.drop(each)
        for function in programs(op):
            try:
                write(function, rates)
            except (NotTimed, ProgramError, UnknownRate) as reason:
                NOT_TIMED.set(function, str(reason))


def rates_of(module: ModuleOp) -> Rates:
    """The numbers of time of a module's machine.

    Raises: Refusal if it has none.
    """
    machine = machine_of(module)
    if machine is None:
        refuse(module, "expected npu.target on the module: it says how fast the machine is")
    try:
        return Rates.of(machine)
    except UnknownRate as error:
        refuse(module, f"expected a machine whose file has all numbers of time: {error}")


def programs(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions with a body that no other one calls."""
    called = {op.callee.string_value() for op in walk(module) if isinstance(op, CallOp)}
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and op.sym_name.data not in called:
            yield op


def write(function: FuncOp, rates: Rates) -> None:
    """Write the cycles of a function and of its layers.

    Raises: NotTimed, ProgramError, or UnknownRate if they cannot be counted.
    """
    program = read_program(function, rates)
    ledger = simulate(program.body, rates)
    for owner, op in program.layers.items():
        CYCLES.set(op, as_record(ledger.get(owner, Cycles())))
    CYCLES.set(function, as_record(total_of(ledger)))


def as_record(cycles: Cycles) -> DictionaryAttr:
    """The value of `npu.cycles`."""
    numbers: Mapping[str, int] = {
        "compute": cycles.compute,
        "transfer": cycles.transfer,
        "exposed": cycles.exposed,
        "total": cycles.total,
    }
    return DictionaryAttr({key: IntegerAttr(number, i64) for key, number in numbers.items()})
