"""The packages that only sweeps need: they are loaded when they are used.

They say little about their types, so what comes from them is `Any` here.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from npu_tools.shared.errors import UserError

Frame: TypeAlias = Any
"""A `pandas.DataFrame`."""
Client: TypeAlias = Any
"""A `distributed.Client`."""

NEEDED = ("pyarrow", "pandas", "distributed", "tqdm")
"""The packages that every sweep needs."""


def package(name: str) -> Any:
    """A module of a package.

    Raises: UserError that says what to install if it is missing.
    """
    need(name.partition(".")[0])
    return import_module(name)


def need(*names: str) -> None:
    """Check that packages are installed, before the work begins.

    Raises: UserError that says what to install.
    """
    for name in names:
        if find_spec(name) is None:
            raise UserError(f"npu-explore needs {name}: pip install 'npu-dialect[explore]'")
