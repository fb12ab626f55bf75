"""Puts data into a page so that no browser can take it for markup, and so that it is short.

Everything that comes from the network's file is JSON, then gzip, then base64: a name such as
`</script>` never stands in the page. The page's script unpacks it with `DecompressionStream`.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from npu_tools.shared.errors import UserError

NEEDED = ("jinja2", "plotly", "grandalf")
SCRIPT = "plotly/package_data/plotly.min.js"
"""The script in the package of plotly."""


def packed(data: Any) -> str:
    """Data as text for a page."""
    return packed_text(json.dumps(data, separators=(",", ":"), ensure_ascii=False))


def packed_text(text: str) -> str:
    """A text for a page. Equal texts give equal results: no date is stored."""
    return b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


@cache
def plotly_script() -> str:
    """The script of plotly, packed."""
    found = Path(str(distribution("plotly").locate_file(SCRIPT)))
    return packed_text(found.read_text(encoding="utf-8"))


def need_report_extra(option: str) -> None:
    """Check that the packages of the extra `report` are installed.

    Raises: UserError if one is missing.
    """
    for name in NEEDED:
        try:
            distribution(name)
        except PackageNotFoundError:
            raise UserError(
                f"{option} needs {name}: pip install 'npu-dialect[report]' installs it"
            ) from None
