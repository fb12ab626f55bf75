"""Trait queries that also accept ops of unregistered dialects."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import OpTrait


def has(op: Operation, trait: type[OpTrait]) -> bool:
    """Whether an op is known to have a trait; False for unregistered ops."""
    return op.has_trait(trait, value_if_unregistered=False)
