"""What npu-compile needs to compile one point of a store again, as its row says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npu_tools.exploring.columns import OPTION_COLUMNS
from npu_tools.exploring.store import Store
from npu_tools.shared.errors import UserError

DEFAULTS: Mapping[str, Any] = {"io": "model"}


def report_path(store: Path, key: str) -> Path:
    """Where the report of a point is, or would be; readers of Parquet pass over such a folder."""
    return store / "_reports" / f"{key}.html"


def row_with(store: Store, key: str) -> Mapping[str, Any]:
    """The row whose key begins so.

    Raises: UserError if there is none, or if there are several.
    """
    found = [each for each in store.keys if each.startswith(key)]
    if len(found) != 1:
        what = "no point" if not found else f"{len(found)} points"
        raise UserError(f"--report {key}: {what} of {store.folder} with such a key: expected one")
    return store.rows(found)[found[0]]


def arguments_of(row: Mapping[str, Any]) -> list[str]:
    """The options of npu-compile for a row, without a machine."""
    found: list[str] = []
    for name in OPTION_COLUMNS:
        value = row[name]
        option = f"--{name.replace('_', '-')}"
        if value is True:
            found.append(option)
        elif value not in (None, False, DEFAULTS.get(name)):
            found += [option, str(value)]
    return found


def machine_file(row: Mapping[str, Any]) -> str:
    """The TOML file of the machine of a row."""
    import json

    from npu_tools.exploring.points import toml_of

    return toml_of(json.loads(row["machine"]))
