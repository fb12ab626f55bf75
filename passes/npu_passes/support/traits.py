"""Questions about the traits of an op that may come from any dialect, or from none."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import OpTrait


def has(op: Operation, trait: type[OpTrait]) -> bool:
    """Whether an op is known to have a trait: an unregistered one has none."""
    return op.has_trait(trait, value_if_unregistered=False)
