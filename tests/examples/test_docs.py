"""What README.md and docs/ show is what the tools print, and the files that they name exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

TOOLS = Path(sys.executable).parent
PAGES = ("README.md", "docs/architecture.md", "docs/integration.md", "docs/off-chip.md")
README = ROOT / "README.md"
MODEL = "examples/lenet5/lenet5.onnx"
PLACE = re.compile(r"`((?:src|passes|tools|tests|lit-tests|examples|docs|bench|scripts)/[\w./-]*)`")


def words(text: str) -> str:
    """The text with its line breaks and indentation as single blanks."""
    return " ".join(text.split())


def blocks(page: str, kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for found, body in fences if found == kind]


def tool(*command: str) -> str:
    command = (str(TOOLS / command[0]), *command[1:])
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page: str) -> None:
    places = PLACE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert places
    missing = [place for place in places if not (ROOT / place.split("NAME")[0]).exists()]
    assert missing == []


def test_readme_shows_what_npu_opt_prints() -> None:
    before, after = blocks("README.md", "mlir")
    assert words(before) in words(tool("npu-opt", MODEL, "--elide-weights"))
    fused = tool("npu-opt", MODEL, "--elide-weights", "-p", "npu-fuse-conv-relu-pool")
    assert words(after) in words(fused)


def test_readme_shows_what_npu_compile_prints(tmp_path: Path) -> None:
    printed = tool("npu-compile", MODEL, "--target", "fe310", "-o", str(tmp_path))
    assert blocks("README.md", "")[0] in printed
    rows = tool(
        "npu-compile", MODEL, "--target", "fe310", "-o", str(tmp_path), "--pipeline", "rows"
    )
    claim = re.search(r"the arena of the same network is (\d+) bytes", words(README.read_text()))
    assert claim
    assert re.search(rf"planned: this arena +{claim[1]} ", rows)


def test_architecture_shows_the_ir_of_each_stop(tmp_path: Path) -> None:
    dump = tmp_path / "ir"
    place = ("--target", "fe310", "-o", str(tmp_path / "c"), "--dump-ir", str(dump))
    tool("npu-compile", MODEL, *place)
    stops = [words(path.read_text(encoding="utf-8")) for path in sorted(dump.iterdir())]
    shown = blocks("docs/architecture.md", "mlir")
    assert len(shown) == 6
    for block in shown:
        parts = [re.escape(words(part)) for part in block.split("...")]
        assert any(re.search(".*?".join(parts), stop) for stop in stops), block
