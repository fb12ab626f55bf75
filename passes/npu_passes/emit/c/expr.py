"""C expressions as text with their precedence, and sums of index terms with folded constants.

An `Expr` is the C text of an SSA value. Combining expressions adds the parentheses that precedence
needs, or without which a compiler warns. Index arithmetic is kept as a `Linear` sum, so that
addresses are printed as `x[c * 1024 + y * 32 + k + 3]`, with constants folded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Rank(IntEnum):
    """Precedence of C operators; a higher one binds tighter."""

    CONDITIONAL = 3
    OR = 4
    AND = 5
    BITS = 6
    COMPARE = 9
    SHIFT = 11
    ADD = 12
    MULTIPLY = 13
    UNARY = 15
    ATOM = 16


LOOSEST_OPERAND = {
    Rank.CONDITIONAL: Rank.OR,
    Rank.OR: Rank.COMPARE,
    Rank.AND: Rank.COMPARE,
    Rank.BITS: Rank.UNARY,
    Rank.COMPARE: Rank.ADD,
    Rank.SHIFT: Rank.UNARY,
    Rank.ADD: Rank.ADD,
    Rank.MULTIPLY: Rank.MULTIPLY,
    Rank.UNARY: Rank.UNARY,
}
"""For each operator the lowest rank of an operand without parentheses.

There are more parentheses than C needs where compilers warn without them, as in `a & (b == c)` and
`(a && b) || c`.
"""


@dataclass(frozen=True)
class Term:
    """`text * factor`, with the precedence of `text`."""

    text: str
    rank: Rank
    factor: int


@dataclass(frozen=True)
class Linear:
    """A sum of terms and a constant."""

    terms: tuple[Term, ...]
    constant: int

    def plus(self, other: Linear) -> Linear:
        """The sum; terms of the same variable are put together."""
        terms = {(term.text, term.rank): term.factor for term in self.terms}
        for term in other.terms:
            key = (term.text, term.rank)
            terms[key] = terms.get(key, 0) + term.factor
        kept = tuple(Term(*key, factor) for key, factor in terms.items() if factor)
        return Linear(kept, self.constant + other.constant)

    def times(self, factor: int) -> Linear:
        """Each term multiplied by a number."""
        if factor == 0:
            return Linear((), 0)
        terms = tuple(Term(term.text, term.rank, term.factor * factor) for term in self.terms)
        return Linear(terms, self.constant * factor)

    @property
    def distributes(self) -> bool:
        """Whether a product with this sum may be written term by term.

        With a negative factor, the intermediate sums could be larger than the result.
        """
        return all(term.factor >= 0 for term in self.terms)

    def render(self) -> tuple[str, Rank]:
        """The sum as text, a positive term first, and its precedence."""
        first = next((term for term in self.terms if term.factor > 0), None)
        rest = [term for term in self.terms if term is not first]
        if first is None:
            if not self.terms:
                return str(self.constant), Rank.ATOM if self.constant >= 0 else Rank.UNARY
            text = str(self.constant)
        else:
            text = product(first, Rank.ADD)
        for term in rest:
            sign = "+" if term.factor > 0 else "-"
            text += f" {sign} {product(term, Rank.MULTIPLY)}"
        if first is not None and self.constant:
            text += f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}"
        if first is None or rest or self.constant:
            return text, Rank.ADD
        return text, first.rank if first.factor == 1 else Rank.MULTIPLY


def product(term: Term, loosest: Rank) -> str:
    """A term without its sign, as an operand that must bind at least like `loosest`."""
    factor = abs(term.factor)
    if factor == 1:
        return term.text if term.rank >= loosest else f"({term.text})"
    text = term.text if term.rank >= Rank.MULTIPLY else f"({term.text})"
    return f"{text} * {factor}"


@dataclass(frozen=True)
class Expr:
    """A C expression without side effects."""

    text: str
    rank: Rank = Rank.ATOM
    memory: bool = False
    """Whether it reads memory that can change, so that it must not move over a store."""
    reads: frozenset[str] = field(default_factory=frozenset[str])
    """The loop-carried variables in it: it must not move over an assignment of one of them."""
    linear: Linear | None = None
    """The expression as an index sum; None if it is none."""
    update: tuple[str, str, str] | None = None
    """(left, operator, right), if it can be written as `left operator= right`."""

    def within(self, rank: Rank, *, right: bool = False) -> str:
        """The text as an operand of an operator of this rank, in parentheses if needed.

        `right`: it is the right operand of an operator that groups to the left.
        """
        enough = self.rank >= LOOSEST_OPERAND[rank] and not (right and self.rank <= rank)
        return self.text if enough else f"({self.text})"

    @property
    def as_linear(self) -> Linear:
        """The expression as a sum; any other expression is a sum of one term."""
        return self.linear or Linear((Term(self.text, self.rank, 1),), 0)

    @property
    def number(self) -> int | None:
        """The value of an index constant; None for other expressions."""
        return self.linear.constant if self.linear and not self.linear.terms else None


def combined(text: str, rank: Rank, *operands: Expr) -> Expr:
    """An expression that contains others, with the `memory` and `reads` of all of them."""
    memory, reads = False, frozenset[str]()
    for operand in operands:
        memory = memory or operand.memory
        if operand.reads:
            reads |= operand.reads
    return Expr(text, rank, memory, reads)


def binary(left: Expr, operator: str, right: Expr, rank: Rank) -> Expr:
    """`left operator right`, for an operator that groups to the left."""
    text = f"{left.within(rank)} {operator} {right.within(rank, right=True)}"
    made = combined(text, rank, left, right)
    if rank not in (Rank.ADD, Rank.MULTIPLY):
        return made
    return Expr(text, rank, made.memory, made.reads, update=(left.text, operator, right.text))


def conditional(condition: Expr, one: Expr, other: Expr) -> Expr:
    """`condition ? one : other`."""
    rank = Rank.CONDITIONAL
    text = f"{condition.within(rank)} ? {one.within(rank)} : {other.within(rank)}"
    return combined(text, rank, condition, one, other)


def cast(ctype: str, value: Expr) -> Expr:
    """`(ctype)value`."""
    return combined(f"({ctype}){value.within(Rank.UNARY)}", Rank.UNARY, value)


def call(function: str, *arguments: Expr) -> Expr:
    """`function(arguments)`."""
    text = ", ".join(argument.text for argument in arguments)
    return combined(f"{function}({text})", Rank.ATOM, *arguments)


def sum_expr(linear: Linear, *operands: Expr) -> Expr:
    """An index sum as an expression, with the `memory` and `reads` of its operands."""
    text, rank = linear.render()
    made = combined(text, rank, *operands)
    return Expr(text, rank, made.memory, made.reads, linear, sum_update(linear))


def sum_update(linear: Linear) -> tuple[str, str, str] | None:
    """`first + rest` as an update of its first variable; None if that is not possible."""
    if len(linear.terms) + bool(linear.constant) < 2 or linear.terms[0].factor != 1:
        return None
    first, *rest = linear.terms
    return first.text, "+", Linear(tuple(rest), linear.constant).render()[0]


def index_literal(value: int) -> Expr:
    """An index constant."""
    return sum_expr(Linear((), value))


def scaled(value: Expr, factor: int) -> Linear:
    """`value * factor` as a sum; differences are not multiplied out, as that could overflow."""
    linear = value.as_linear
    if linear.distributes or abs(factor) == 1:
        return linear.times(factor)
    return Linear((Term(value.text, value.rank, factor),), 0)
