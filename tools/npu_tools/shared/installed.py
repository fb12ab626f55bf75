"""What is installed: the dialects and passes of xDSL, ours, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """All passes that are installed: xDSL's, ours, and other people's."""
    return Universe.get_multiverse().all_passes


def context() -> Context:
    """A context that knows all dialects that are installed."""
    made = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        made.register_dialect(name, factory)
    return made
