"""LLVM's mlir-opt parses and verifies every lit output that is meant for others.

Such a file of lit-tests/ has a line with the passes, behind which the output is theirs:

    // UPSTREAM: npu-to-upstream{sram-space=1}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError

from helpers.paths import ROOT
from helpers.upstream import needs_llvm
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.compiling.printer import ir_text
from npu_tools.shared.installed import available_passes, context
from npu_tools.verifying.upstream import UpstreamError, verified

FOLDER = ROOT / "lit-tests"
TO_UPSTREAM = FOLDER / "passes" / "emit" / "to_upstream"
MARK = re.compile(r"^// UPSTREAM: (.+)$", re.MULTILINE)


def marked() -> list[tuple[Path, str]]:
    """The marked files, each with passes."""
    return [
        (path, passes)
        for path in sorted(FOLDER.rglob("*.mlir"))
        for passes in MARK.findall(path.read_text(encoding="utf-8"))
    ]


def outputs_of(path: Path, passes: str) -> Iterator[str]:
    """The text of each part of a file behind passes."""
    for part in path.read_text(encoding="utf-8").split("// -----"):
        module = Parser(context(), part).parse_module()
        for each in parse_passes(available_passes(), passes):
            each.apply(context(), module)
            module.verify()
        yield ir_text(module)


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        pytest.param(*each, id=f"{each[0].parent.name}/{each[0].stem}-{each[1]}")
        for each in marked()
    ],
)
def test_upstream_takes_it(path: Path, passes: str) -> None:
    needs_llvm()
    for text in outputs_of(path, passes):
        assert "func.func" in verified(text)


def test_upstream_does_not_take_everything() -> None:
    """Without the pass there are memory spaces that mlir-opt does not know."""
    needs_llvm()
    path = TO_UPSTREAM / "arena.mlir"
    with pytest.raises(UpstreamError, match="unregistered dialect"):
        verified(next(outputs_of(path, "canonicalize")))


@pytest.mark.slow
def test_any_text_is_refused_or_taken() -> None:
    """What the inputs of all other tests become: a diagnostic, or a text that mlir-opt takes.

    Ops of `tosa` are upstream's own; tests have them in the forms of several versions.
    """
    needs_llvm()
    taken = 0
    for path in sorted(FOLDER.rglob("*.mlir")):
        for part in path.read_text(encoding="utf-8").split("// -----"):
            if "tosa." in part:
                continue
            try:
                module = Parser(context(), part).parse_module()
                module.verify()
                ToUpstreamPass().apply(context(), module)
            except (DiagnosticException, ParseError):
                continue
            module.verify()
            for name in [name for name in module.attributes if "." not in name]:
                del module.attributes[name]  # xDSL takes them, upstream does not
            verified(ir_text(module))
            taken += 1
    assert taken > 50


def test_every_file_of_the_pass_is_marked() -> None:
    files = {path.name for path in TO_UPSTREAM.glob("*.mlir")} - {"rejects.mlir", "options.mlir"}
    assert files == {path.name for path, _ in marked() if path.parent == TO_UPSTREAM}
