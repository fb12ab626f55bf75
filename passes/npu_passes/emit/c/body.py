"""The state while the body of one function is printed: lines, names, and what stands for each
value.

An expression with one reader in the same block is not printed where it is computed but where it
is read. If it reads memory it may wait only until something writes memory: `flush` gives it a
name before that. In a function with `dsp.keep_order` whatever is computed waits no longer, either.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import memref
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from npu_dialect import dma, dsp
from npu_passes.emit.c.carried import Variables
from npu_passes.emit.c.expr import Expr
from npu_passes.emit.c.names import Scope, identifier
from npu_passes.emit.c.operators import repeats_operands
from npu_passes.emit.c.program import Function, Program
from npu_passes.emit.c.unit import Unit

WRITERS = (
    memref.StoreOp,
    memref.CopyOp,
    CallOp,
    *dma.DMA.operations,
    dsp.StoreWordOp,
    dsp.KeepOrderOp,
)
"""Ops that write memory, or what others see of it: transfers, and their counters; and what nothing
moves across."""

WIDTH = 100
"""Columns of a line."""

LONGEST_INLINE = 72
"""Characters of an expression that may become part of a larger one."""


@dataclass(frozen=True)
class Pointer:
    """Where element [0, ..., 0] of a buffer lies: `name[start]`."""

    name: str
    start: int = 0

    @property
    def text(self) -> str:
        """The address as an expression."""
        sign = "+" if self.start > 0 else "-"
        return f"{self.name} {sign} {abs(self.start)}" if self.start else self.name


@dataclass
class Body:
    """The body of a function that is being printed."""

    program: Program
    function: Function
    unit: Unit
    scope: Scope
    variables: Variables
    pointers: dict[SSAValue, Pointer] = field(default_factory=dict[SSAValue, Pointer])
    values: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])
    waiting: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values that `flush` prints: they read memory, or the function keeps an order, and they have a
    reader to come; in the order of the IR."""
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Names of the variables of loops and branches."""
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1

    def line(self, text: str) -> None:
        """Print one line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def indented(self) -> Generator[None]:
        """The inside of braces: one level deeper, with names of its own."""
        outer = self.scope
        self.scope, self.depth = Scope(outer), self.depth + 1
        yield
        self.scope, self.depth = outer, self.depth - 1

    @contextmanager
    def captured(self) -> Generator[list[str]]:
        """Print into a list, inside of braces."""
        outer, self.lines = self.lines, []
        with self.indented():
            yield self.lines
        self.lines = outer

    def name_for(self, value: SSAValue, otherwise: str = "value") -> str:
        """A new name for a value, after its name hint."""
        return self.scope.fresh(identifier(value.name_hint or otherwise, otherwise))

    def use(self, value: SSAValue) -> Expr:
        """The expression of a value, which is printed now or becomes part of a larger one."""
        self.waiting.pop(value, None)
        return self.values[value]

    def use_all(self, values: Sequence[SSAValue]) -> list[Expr]:
        """The expressions of several values."""
        return [self.use(value) for value in values]

    def use_variable(self, value: SSAValue) -> str:
        """The name of the variable that a result of a loop or branch lives in."""
        return self.names[self.variables.owner_of(value)]

    def define(self, result: SSAValue, expr: Expr) -> None:
        """A value is computed: print it into a variable, or leave it to its reader."""
        if owner := self.variables.owner.get(result):
            if owner is result:
                self.names[owner] = self.name_for(result)
                self.declare(result, self.names[owner], expr)
            else:
                self.assign(self.names[owner], expr)
            name = self.names[owner]
            self.values[result] = Expr(name, reads=frozenset((name,)))
        elif can_wait(result, expr):
            self.values[result] = expr
            if expr.memory or (self.keeps_order and is_computed(result, expr)):
                self.waiting[result] = None
        else:
            self.print_named(result, expr)

    def print_named(self, result: SSAValue, expr: Expr) -> None:
        """Print a value into a constant."""
        name = self.name_for(result)
        self.line(f"const {self.unit.ctype(result.type).name} {name} = {expr.text};")
        self.values[result] = Expr(name)

    def declare(self, value: SSAValue, name: str, expr: Expr) -> None:
        """Print the declaration of a variable."""
        self.line(f"{self.unit.ctype(value.type).name} {name} = {expr.text};")

    def assign(self, target: str, expr: Expr) -> None:
        """Print an assignment, in the short form if the target is the first operand."""
        if expr.update is not None and expr.update[0] == target:
            _, operator, right = expr.update
            self.line(f"{target} {operator}= {right};")
        else:
            self.line(f"{target} = {expr.text};")

    @cached_property
    def keeps_order(self) -> bool:
        """Whether the function has places that nothing moves across."""
        return any(isinstance(op, dsp.KeepOrderOp) for op in self.function.op.walk())

    def flush(self) -> None:
        """Print what may wait no longer: something is about to write."""
        for value in list(self.waiting):
            self.print_named(value, self.use(value))


def can_wait(result: SSAValue, expr: Expr) -> bool:
    """Whether a value's text may stand where the value is read."""
    if not result.uses or expr.number is not None or is_literal(result):
        return True
    use = result.get_user_of_unique_use()
    if use is None or not isinstance(result, OpResult) or len(expr.text) > LONGEST_INLINE:
        return False
    return use.parent is result.op.parent and not repeats_operands(use)


def is_computed(result: SSAValue, expr: Expr) -> bool:
    """Whether a value is more than a part of addresses, or a constant."""
    return bool(result.uses) and expr.linear is None and not is_literal(result)


def is_literal(value: SSAValue) -> bool:
    """Whether a value is a constant, which costs nothing to repeat."""
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


def writes_memory(op: Operation) -> bool:
    """Whether an op, or one in its regions, writes memory."""
    return any(isinstance(inner, WRITERS) for inner in op.walk())
