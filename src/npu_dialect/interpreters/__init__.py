"""The meaning of each op, as numpy functions for xDSL's interpreter.

The names are loaded when they are first used: xDSL's own interpreters load all of its dialects,
and the importer needs only the formulas of single layers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npu_dialect.interpreters.dma import Counters
    from npu_dialect.interpreters.runner import register_implementations, run_function
    from npu_dialect.interpreters.signature import Port, Signature, find_function

__all__ = [
    "Counters",
    "Port",
    "Signature",
    "find_function",
    "register_implementations",
    "run_function",
]

PLACES = {
    "Counters": "dma",
    "Port": "signature",
    "Signature": "signature",
    "find_function": "signature",
    "register_implementations": "runner",
    "run_function": "runner",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
