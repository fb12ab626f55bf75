"""The meaning of each op, as numpy functions for xDSL's interpreter."""

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
