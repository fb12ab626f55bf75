"""LLVM's mlir-opt parses and verifies every lit output that is meant for others.

Such a file of lit-tests/ has a line with the passes, behind which the output is theirs:

    // UPSTREAM: npu-to-upstream{sram-space=1}
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.parser import Parser

from helpers.paths import ROOT
from helpers.upstream import needs_llvm
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.compiling.printer import ir_text
from npu_tools.shared.installed import available_passes, context
from npu_tools.verifying.upstream import UpstreamError, verified

FOLDER = ROOT / "lit-tests"
MARK = re.compile(r"^// UPSTREAM: (.+)$", re.MULTILINE)


def marked() -> list[tuple[Path, str]]:
    """The marked files, each with passes."""
    return [
        (path, passes)
        for path in sorted(FOLDER.rglob("*.mlir"))
        for passes in MARK.findall(path.read_text(encoding="utf-8"))
    ]


def output_of(path: Path, passes: str) -> str:
    """The text of a file behind passes."""
    module = Parser(context(), path.read_text(encoding="utf-8")).parse_module()
    for each in parse_passes(available_passes(), passes):
        each.apply(context(), module)
        module.verify()
    return ir_text(module)


@pytest.mark.parametrize(
    ("path", "passes"), [pytest.param(*each, id=f"{each[0].stem}-{each[1]}") for each in marked()]
)
def test_upstream_takes_it(path: Path, passes: str) -> None:
    needs_llvm()
    assert "func.func" in verified(output_of(path, passes))


def test_upstream_does_not_take_everything() -> None:
    """Without the pass there are memory spaces that mlir-opt does not know."""
    needs_llvm()
    path, _ = marked()[0]
    with pytest.raises(UpstreamError, match="unregistered dialect"):
        verified(output_of(path, "canonicalize"))


def test_every_file_of_the_pass_is_marked() -> None:
    folder = FOLDER / "passes" / "emit" / "to_upstream"
    files = {path.name for path in folder.glob("*.mlir")} - {"rejects.mlir", "options.mlir"}
    assert files == {path.name for path, _ in marked() if path.parent == folder}
