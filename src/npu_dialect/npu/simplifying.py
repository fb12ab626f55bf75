"""Ops that know a simpler form of themselves, for xDSL's `canonicalize`.

    %b = npu.relu %a      // where %a is a relu: %a
    %c = npu.reshape %b   // where %b is a reshape: one reshape

The op says what is simpler, in `simplified`; `SimplifyPattern` puts it in place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import HasCanonicalizationPatternsTrait

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern


class SimplifyTrait(HasCanonicalizationPatternsTrait):
    """What makes `canonicalize` ask an op for its simpler form."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The one pattern."""
        from npu_dialect.npu.simplify_pattern import SimplifyPattern

        return (SimplifyPattern(simplified),)


class Simplifying(IRDLOperation, ABC):
    """An op on tensors that may have a simpler form."""

    traits = traits_def(SimplifyTrait())

    @abstractmethod
    def simplified(self) -> SSAValue | Operation | None:
        """A value or a new, detached op that computes the same with less; None if there is none."""


def simplified(op: Operation) -> SSAValue | Operation | None:
    """What is simpler than an op with one result; None if nothing is known to be."""
    return op.simplified() if isinstance(op, Simplifying) and len(op.results) == 1 else None
