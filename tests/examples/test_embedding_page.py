"""docs/embedding.md: the commands run with plain xdsl-opt, and print what the page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from helpers.paths import ROOT

PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
XDSL_OPT = (sys.executable, "-c", "from xdsl.tools.xdsl_opt import main; main()")


@pytest.mark.slow
def test_each_command_prints_what_stands_below_it() -> None:
    commands = [index for index, (kind, _) in enumerate(BLOCKS) if kind == "sh"]
    assert len(commands) == 3
    for index in commands:
        tool, *arguments = shlex.split(BLOCKS[index][1])
        assert tool == "xdsl-opt"
        done = subprocess.run(
            [*XDSL_OPT, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert BLOCKS[index + 1][1] in done.stdout


def test_the_program_of_the_page_is_the_file() -> None:
    text = (ROOT / "examples" / "embedding" / "linalg.mlir").read_text(encoding="utf-8")
    assert BLOCKS[0] == ("mlir", text.partition("\n")[2])
