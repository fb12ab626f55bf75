"""The state while the body of one function is printed: lines, names, and C text for each value.

An expression with one reader in the same block is printed where it is read, not where it is
computed: it waits. If it reads memory, it can wait only until something writes memory; before that
`flush` prints it into a named constant. In a function with `dsp.keep_order`, `flush` does so with
every computed value that waits.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from npu_dialect import dma, dsp, mve
from npu_dialect.walking import walk, walk_kind
from npu_passes.emit.c.carried import Variables
from npu_passes.emit.c.expr import Expr
from npu_passes.emit.c.names import Scope, identifier
from npu_passes.emit.c.operators import repeats_operands
from npu_passes.emit.c.program import Function, Program
from npu_passes.emit.c.unit import Unit
from npu_passes.emit.c.unread import without_unread

WRITERS: frozenset[type[Operation]] = frozenset(
    (
        memref.StoreOp,
        memref.CopyOp,
        CallOp,
        *dma.DMA.operations,
        dsp.StoreWordOp,
        dsp.StoreFloatsOp,
        dsp.CopyWordsOp,
        dsp.KeepOrderOp,
        mve.StoreOp,
        mve.ScatterOp,
        mve.ScatterBytesOp,
    )
)
"""Ops that a read of memory must not move across: they write memory, call a function, move or count
transfers, or keep the order."""

WIDTH = 100
"""The most columns of a line."""

LONGEST_INLINE = 72
"""The most characters of an expression that becomes a part of a larger one."""


@dataclass(frozen=True)
class Pointer:
    """The pointer to a buffer in C: element [0, ..., 0] is `name[start]`."""

    name: str
    start: int = 0

    @property
    def text(self) -> str:
        """The address as an expression."""
        sign = "+" if self.start > 0 else "-"
        return f"{self.name} {sign} {abs(self.start)}" if self.start else self.name


@dataclass
class Body:
    """The body of a function that is being printed.

    `values`: the C expression of each value. `pointers`: the C pointer of each buffer.
    """

    program: Program
    function: Function
    unit: Unit
    scope: Scope
    variables: Variables
    pointers: dict[SSAValue, Pointer] = field(default_factory=dict[SSAValue, Pointer])
    values: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])
    waiting: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """The values that `flush` must print, in the order of the IR.

    They read memory, or the function has a `dsp.keep_order`, and their reader is not printed yet.
    """
    constants: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    """Whether the elements of a buffer stay the same, by buffer: many loads read the same one."""
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Names of the variables of loops and branches."""
    indices: set[str] = field(default_factory=set[str])
    """Names of constants that are indices."""
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1

    def line(self, text: str) -> None:
        """Print one line."""
        self.lines.append("    " * self.depth + text)

    def add_to_line(self, text: str) -> None:
        """Print a short statement behind the last one, on its line if there is one in the block."""
        last = self.lines[-1] if self.lines else ""
        spaces = len(last) - len(last.lstrip(" "))
        if last.endswith(";") and spaces == 4 * self.depth:
            self.lines[-1] = f"{last} {text}"
        else:
            self.line(text)

    def finished(self) -> list[str]:
        """All lines, without the definitions of indices that none of them reads."""
        return without_unread(self.lines, self.indices)

    @contextmanager
    def indented(self) -> Generator[None]:
        """Print inside of braces: one level deeper, in a scope of its own."""
        outer = self.scope
        self.scope, self.depth = Scope(outer), self.depth + 1
        yield
        self.scope, self.depth = outer, self.depth - 1

    @contextmanager
    def captured(self) -> Generator[list[str]]:
        """Print into a separate list of lines, one level deeper."""
        outer, self.lines = self.lines, []
        with self.indented():
            yield self.lines
        self.lines = outer

    def name_for(self, value: SSAValue, otherwise: str = "value") -> str:
        """A new C name for a value, from its name hint or else from `otherwise`."""
        return self.scope.fresh(identifier(value.name_hint or otherwise, otherwise))

    def use(self, value: SSAValue) -> Expr:
        """The expression of a value for its reader; the value need not wait any longer."""
        self.waiting.pop(value, None)
        return self.values[value]

    def use_all(self, values: Sequence[SSAValue]) -> list[Expr]:
        """The expressions of several values."""
        return [self.use(value) for value in values]

    def use_variable(self, value: SSAValue) -> str:
        """The name of the C variable that holds a result of a loop or branch."""
        return self.names[self.variables.owner_of(value)]

    def define(self, result: SSAValue, expr: Expr) -> None:
        """Handle a computed value: print it into a variable or constant, or let it wait."""
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
        """Print the definition of a `const` local variable with a value."""
        name = self.name_for(result)
        if isinstance(result.type, IndexType):
            self.indices.add(name)
        self.line(f"const {self.unit.ctype(result.type).name} {name} = {expr.text};")
        self.values[result] = Expr(name)

    def declare(self, value: SSAValue, name: str, expr: Expr) -> None:
        """Print the declaration of a variable with its first value."""
        self.line(f"{self.unit.ctype(value.type).name} {name} = {expr.text};")

    def assign(self, target: str, expr: Expr) -> None:
        """Print an assignment, as `target += ...` if the target is the first operand."""
        if expr.update is not None and expr.update[0] == target:
            _, operator, right = expr.update
            self.line(f"{target} {operator}= {right};")
        else:
            self.line(f"{target} = {expr.text};")

    @cached_property
    def keeps_order(self) -> bool:
        """Whether the function has a `dsp.keep_order`."""
        return any(walk_kind(self.function.op, dsp.KeepOrderOp))

    def flush(self) -> None:
        """Print all waiting values into constants; call it before an op of `WRITERS`."""
        for value in list(self.waiting):
            self.print_named(value, self.use(value))


def can_wait(result: SSAValue, expr: Expr) -> bool:
    """Whether the expression of a value may be printed where the value is read."""
    if not result.uses or expr.number is not None or is_literal(result):
        return True
    use = result.get_user_of_unique_use()
    if use is None or not isinstance(result, OpResult) or len(expr.text) > LONGEST_INLINE:
        return False
    return use.parent is result.op.parent and not repeats_operands(use)


def is_computed(result: SSAValue, expr: Expr) -> bool:
    """Whether a value that has a reader is neither an index sum nor a constant."""
    return bool(result.uses) and expr.linear is None and not is_literal(result)


def is_literal(value: SSAValue) -> bool:
    """Whether a value is a constant, which may be printed at each of its uses."""
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


def writes_memory(op: Operation) -> bool:
    """Whether an op, or one in its regions, writes memory."""
    if not op.regions:
        return type(op) in WRITERS
    return any(type(inner) in WRITERS for inner in walk(op))
