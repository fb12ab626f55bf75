"""The pattern that replaces an op by the simpler form that the op itself knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern


@dataclass(frozen=True)
class SimplifyPattern(RewritePattern):
    """Asks `simplified` for a value or a new op with one result, and uses that instead."""

    simplified: Callable[[Operation], SSAValue | Operation | None]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Replace an op, if there is something simpler."""
        match self.simplified(op):
            case None:
                pass
            case SSAValue() as value:
                rewriter.replace(op, [], [value])
            case Operation() as new:
                rewriter.replace(op, new)
