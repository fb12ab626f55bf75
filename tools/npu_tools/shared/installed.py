"""Finds the installed dialects and passes: those of xDSL, npu-dialect and other packages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from npu_dialect.complement import completed
from npu_passes.support.refuse import RefusingPass


@cache
def multiverse() -> Universe:
    """What all installed packages offer. Looking for packages takes a while, so it is done once."""
    return Universe.get_multiverse()


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """A factory for each installed pass, by the pass's name."""
    return dict(multiverse().all_passes)


def only_reads(name: str) -> bool:
    """Whether there is a pass of this name, which says that it changes nothing."""
    load = available_passes().get(name)
    kind = None if load is None else load()
    return kind is not None and issubclass(kind, RefusingPass) and kind.ONLY_READS


def context() -> Context:
    """A new context with all installed dialects registered."""
    made = Context()
    for name, factory in completed(multiverse().all_dialects).items():
        made.register_dialect(name, factory)
    return made
