"""Ops of MLIR's own dialects that xDSL lacks, or knows in the form of one MLIR version only.

Our tools read `tosa`, `linalg` and `tensor` text with the dialects of this package. They
hold xDSL's ops, and in addition those that mlir-opt 19 and newer print and xDSL does not parse.
Plain `xdsl-opt` has xDSL's dialects: give it such text in generic form, with
`--allow-unregistered-dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Dialect


def tosa() -> Dialect:
    """The dialect `tosa`, completed."""
    from npu_dialect.complement.tosa import TOSA

    return TOSA


def linalg() -> Dialect:
    """The dialect `linalg`, completed."""
    from npu_dialect.complement.linalg import LINALG

    return LINALG


def tensor() -> Dialect:
    """The dialect `tensor`, completed."""
    from npu_dialect.complement.tensor import TENSOR

    return TENSOR


COMPLETED: Mapping[str, Callable[[], Dialect]] = {
    "tosa": tosa,
    "linalg": linalg,
    "tensor": tensor,
}
"""A factory for each dialect of this package, by name."""


def completed(dialects: Mapping[str, Callable[[], Dialect]]) -> dict[str, Callable[[], Dialect]]:
    """Factories of dialects by name, those of this package in place of xDSL's."""
    return {**dialects, **COMPLETED}
