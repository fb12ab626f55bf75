"""`npu-estimate-instructions`: write down how many instructions layers take on a microcontroller.

    func.call @conv1(%x, %y) {npu.layer = "conv1"} : ...
becomes
    func.call @conv1(%x, %y) {npu.layer = "conv1", npu.instructions = 190612 : i64} : ...

Level of IR: after `npu-lower-to-loops`. The number on a call is that of all its runs in one
inference; the number on a public function is that of the whole inference, the code between the
layers included. Nothing is compiled or run: the events of the loops are counted
(`npu_plans/instructions/features.py`) and multiplied by the costs of the core, which were fitted to
the emulated core once. docs/instructions.md says how far they are off.

The core is that of the module's machine, or that of the option. A module whose machine has no table
of costs is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from npu_dialect.attributes import INSTRUCTIONS, LAYER
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.inlined_rows import with_inlined_rows
from npu_passes.analysis.plain_code import plain_code
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_plans.instructions.costs import CostError, Costs, costs_of, known_cores
from npu_plans.instructions.features import Core
from npu_plans.instructions.program import Program, program_of


@dataclass(frozen=True)
class Estimate:
    """The instructions of one inference: of each call of a layer, and of everything."""

    layers: Mapping[func.CallOp, int]
    total: int


@dataclass(frozen=True)
class EstimateInstructionsPass(RefusingPass):
    """Write down how many instructions each layer takes; see the module."""

    name = "npu-estimate-instructions"

    core: str | None = None
    """The core whose costs count; that of the module's machine if there is none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set `npu.instructions` on calls of layers and on public functions.

        Raises: PassFailedException if no table is known for the option, or if the number of trips
        of a loop does not follow from constants.
        """
        if (costs := self.costs(op)) is None:
            return
        estimate = estimated(op, costs)
        for call, number in estimate.layers.items():
            INSTRUCTIONS.set(call, number)
        for function in entries_of(op):
            INSTRUCTIONS.set(function, estimate.total)

    def costs(self, module: ModuleOp) -> Costs | None:
        """The costs to use; None if the module's machine has none.

        Raises: PassFailedException if there are none for the option.
        """
        if self.core is None:
            return costs_for(module)
        try:
            return costs_of(self.core)
        except CostError as error:
            raise Refusal(str(error)) from None


def costs_for(module: ModuleOp) -> Costs | None:
    """The costs of a module's machine; None if there is no table for it."""
    machine = machine_of(module)
    return None if machine is None or machine.name not in known_cores() else costs_of(machine.name)


def estimated(module: ModuleOp, costs: Costs) -> Estimate:
    """The instructions of a program of loops.

    Raises: PassFailedException if the number of trips of a loop does not follow from constants.
    """
    program = program_features(module, costs.core)
    found = {
        call: round(costs.instructions(program.layers.get(place, {})))
        for place, call in enumerate(layer_calls(module))
    }
    return Estimate(found, sum(found.values()) + round(costs.instructions(program.between)))


def program_features(module: ModuleOp, core: Core) -> Program:
    """The events of a program of loops; the places of layers are those of their calls.

    Raises: as `estimated`.
    """
    module = with_inlined_rows(module)
    places: dict[Operation, int] = {}
    places.update((call, place) for place, call in enumerate(layer_calls(module)))
    entries = [function.sym_name.data for function in entries_of(module)]
    return program_of(plain_code(module, places), entries, core)


def layer_calls(module: ModuleOp) -> list[func.CallOp]:
    """The calls that run layers, in the order of the IR."""
    return [call for call in walk_kind(module, func.CallOp) if LAYER.is_on(call)]


def entries_of(module: ModuleOp) -> list[func.FuncOp]:
    """The public functions of a module: those that an application calls, in their order."""
    return [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp)
        and not op.is_declaration
        and op.sym_visibility != StringAttr("private")
    ]
