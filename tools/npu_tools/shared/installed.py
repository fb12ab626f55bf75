"""Finds the installed dialects and passes: those of xDSL, npu-dialect and other packages."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """A factory for each installed pass, by the pass's name."""
    return Universe.get_multiverse().all_passes


def context() -> Context:
    """A new context with all installed dialects registered."""
    made = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        made.register_dialect(name, factory)
    return made
