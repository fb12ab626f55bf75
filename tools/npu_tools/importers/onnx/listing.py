"""The message that lists the nodes of a model that cannot be imported."""

from __future__ import annotations

from collections.abc import Sequence

from npu_tools.importers.onnx.load import DOMAINS
from npu_tools.importers.onnx.rules import FOREIGN, RULES

UNSUPPORTED = "the operator is not supported"


def listing(problems: Sequence[str]) -> str:
    """The message for some problems: one as it is, several as a list.

    If an operator is not supported, the supported ones are named at the end.
    """
    if len(problems) == 1:
        text = problems[0]
    else:
        lines = "".join(f"\n  {problem}" for problem in problems)
        text = f"{len(problems)} nodes cannot be imported:{lines}"
    if any(problem.endswith(UNSUPPORTED) for problem in problems):
        foreign = {name for domain in ("", *DOMAINS) for name in FOREIGN[domain]}
        text += f"\nsupported: {', '.join(sorted({*RULES, *foreign}))}; more between constants"
    return text
