"""Decides which values of loops and branches share a C variable.

A value that a loop carries becomes a variable, and so does a result of `scf.if`. If each had a
variable of its own, nested loops would copy a sum from variable to variable. This analysis finds
chains of values of which only one is needed at a time, from the value that a region begins with to
the value that it yields:

    %s = scf.for ... iter_args(%a = %bias) {              float sum = bias[oc];
      %t = scf.for ... iter_args(%b = %a) {               for (...) {
        %u = arith.addf %b, %x                                for (...) {
        scf.yield %u                             ->               sum += x;
      }                                                       }
      scf.yield %t                                        }
    }

A long sum outside of a loop is a chain, too: `float acc = b + x * w; acc += ...; acc += ...;`. Its
statements keep the order of the IR, which a lowering has chosen for the machine's registers.

Each value of a chain is computed by the only reader of the value before it, so no value is
overwritten that is still needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from npu_dialect import dsp, mve

UPDATES: frozenset[object] = frozenset(
    (
        arith.AddfOp,
        arith.SubfOp,
        arith.MulfOp,
        arith.DivfOp,
        arith.MaximumfOp,
        arith.MinimumfOp,
        arith.MaxnumfOp,
        arith.MinnumfOp,
        arith.AddiOp,
        arith.SubiOp,
        arith.MuliOp,
        arith.MaxSIOp,
        arith.MinSIOp,
        dsp.SmladOp,
        dsp.SmlaOp,
        mve.MlaAcrossOp,
        mve.FmaOp,
        mve.FmaScalarOp,
        mve.MlaScalarOp,
    )
)
"""Ops whose result may replace their first operand or accumulator, if no other op reads that."""

ACCUMULATING = (
    dsp.SmladOp | dsp.SmlaOp | mve.MlaAcrossOp | mve.MlaScalarOp | mve.FmaOp | mve.FmaScalarOp
)
"""Those that replace their accumulator."""

CHOOSING = UPDATES | {arith.SelectOp}
"""Updates, and the op that chooses between two values."""

LINKS = CHOOSING | {scf.ForOp, scf.IfOp}
"""The ops that can be part of a chain."""

LONG_CHAIN = 4
"""The fewest updates in a row that are printed as statements; fewer become one expression."""


@dataclass(frozen=True)
class Target:
    """A variable that a region's yield assigns, and its value when the region begins.

    `owner`: the result whose variable it is. `value`: None if the variable has no value yet.
    """

    owner: SSAValue
    value: SSAValue | None


@dataclass(frozen=True)
class Variables:
    """The variable of each value that has to live in one."""

    owner: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For each result of a loop, branch or update the result whose variable holds it."""
    before: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For each member of a chain the value before it, which the same variable holds."""

    def owner_of(self, result: SSAValue) -> SSAValue:
        """The result whose variable holds a result of a loop or branch: another one or itself."""
        return self.owner.setdefault(result, result)


def variables_of(region: Region) -> Variables:
    """The variables of a function body."""
    variables = Variables()
    for block in region.blocks:
        visit(block, (), variables)
    return variables


def visit(block: Block, targets: Sequence[Target], variables: Variables) -> None:
    """Find chains that end with what a block yields, then chains in the block and its regions."""
    last = block.last_op
    if isinstance(last, scf.YieldOp):
        for value, target in zip(last.operands, targets, strict=True):
            claim(block, value, target, variables)
    for op in block.ops:
        if not op.regions:
            begin_chain(block, op, variables)
        elif isinstance(op, scf.ForOp):
            carried = zip(op.res, op.body.block.args[1:], strict=True)
            inner = [Target(variables.owner_of(result), argument) for result, argument in carried]
            visit(op.body.block, inner, variables)
        elif isinstance(op, scf.IfOp):
            inner = [
                Target(variables.owner_of(result), variables.before.get(result))
                for result in op.output
            ]
            for region in op.regions:
                if region.blocks:
                    visit(region.block, inner, variables)


def begin_chain(block: Block, op: Operation, variables: Variables) -> None:
    """Give a variable to a long chain of updates that no loop carries, from its first op on."""
    if type(op) not in UPDATES or op.results[0] in variables.owner:
        return
    chain = [op]
    while (following := update_of(chain[-1])) is not None and following.parent is block:
        chain.append(following)
    if len(chain) < LONG_CHAIN:
        return
    head = op.results[0]
    for previous, member in pairwise(chain):
        variables.owner[member.results[0]] = head
        variables.before[member.results[0]] = previous.results[0]
    variables.owner[head] = head


def update_of(op: Operation) -> Operation | None:
    """The only reader of an op's result, if that is an update of the result; else None."""
    reader = op.results[0].get_user_of_unique_use()
    if reader is None or type(reader) not in UPDATES or updated(reader) is not op.results[0]:
        return None
    return reader


def updated(op: Operation) -> SSAValue:
    """The operand that an update replaces."""
    return op.acc if isinstance(op, ACCUMULATING) else op.operands[0]


def claim(block: Block, value: SSAValue, target: Target, variables: Variables) -> None:
    """Put the chain that ends with a yielded value into the variable `target`.

    The chain must begin with the value that the variable holds. If it holds none yet, the chain may
    begin with a loop or a branch.
    """
    if value is target.value or not value.has_one_use():
        return
    chain: list[tuple[SSAValue, SSAValue | None]] = []
    current: SSAValue | None = value
    while current is not None and current is not target.value:
        if not isinstance(current, OpResult) or current.op.parent is not block:
            break
        previous = link(block, current, target.value)
        chain.append((current, previous))
        current = previous
    if target.value is None:
        while chain and type(chain[-1][0].owner) in CHOOSING:
            chain.pop()
        if chain:
            chain[-1] = (chain[-1][0], None)
    elif current is not target.value:
        return
    for member, previous in chain:
        variables.owner[member] = target.owner
        if previous is not None:
            variables.before[member] = previous


def link(block: Block, value: OpResult, start: SSAValue | None) -> SSAValue | None:
    """The value that an op in a chain replaces; None if another op reads that value, too."""
    op = value.op
    match op:
        case scf.ForOp():
            previous = op.iter_args[value.index]
            return previous if readers(block, previous) == [op] else None
        case scf.IfOp():
            kept = (v for v in yielded(op, value.index) if v is start or is_link(block, v))
            return next((v for v in kept if only_in(block, v, op)), None)
        case arith.SelectOp():
            kept = (v for v in (op.lhs, op.rhs) if v is start or is_link(block, v))
            return next((v for v in kept if is_choice(block, op, v)), None)
        case _ if type(op) in UPDATES:
            previous = updated(op)
            return previous if readers(block, previous) == [op] else None
        case _:
            return None


def readers(block: Block, value: SSAValue) -> list[Operation]:
    """The ops of a block that use a value, themselves or in a region; one for each use."""
    found = (block.find_ancestor_op_in_block(use.operation) for use in value.uses)
    return [op for op in found if op is not None]


def yielded(op: scf.IfOp, index: int) -> list[SSAValue]:
    """What the regions of a branch yield as one of its results."""
    last = [region.block.last_op for region in op.regions if region.blocks]
    return [terminator.operands[index] for terminator in last if terminator is not None]


def is_link(block: Block, value: SSAValue) -> bool:
    """Whether a value is computed in a block by an op that can be part of a chain."""
    return isinstance(value, OpResult) and value.op.parent is block and type(value.op) in LINKS


def only_in(block: Block, value: SSAValue, op: scf.IfOp) -> bool:
    """Whether a value from outside of a branch is read in it and in its condition only."""
    condition = op.cond.owner if op.cond.has_one_use() else op
    return all(reader is op or reader is condition for reader in readers(block, value))


def is_choice(block: Block, op: arith.SelectOp, value: SSAValue) -> bool:
    """Whether a value is read by a selection and by its condition only: `m = x > m ? x : m`."""
    condition = op.cond.owner if op.cond.has_one_use() else op
    found = readers(block, value)
    return found.count(op) == 1 and all(reader is op or reader is condition for reader in found)
