"""README.md and docs/ show what the tools print, and the files that they name exist.

The commands in blocks marked `sh` run, page by page, in a folder with the `examples` and `bench` of
the checkout. Those behind a comment `<!-- slow` run in `make test-all` only.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

TOOLS = Path(sys.executable).parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in DOCS))
README = ROOT / "README.md"
MODEL = "examples/lenet5/lenet5.onnx"
SETUP = re.compile(r"^(make|pip|\.|git|cd|lit|python -m pytest) ", re.MULTILINE)
"""The beginnings of commands that are not run: they set up the environment, or run tests."""
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


def scripts(page: str, *, slow: bool) -> list[str]:
    """The blocks of commands on a page that can run; `slow`: those marked as slow."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = re.findall(r"(<!-- slow.*?-->\n)?^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for mark, body in fences if bool(mark) == slow and not SETUP.search(body)]


def run_scripts(page: str, folder: Path, *, slow: bool) -> str:
    """Run the blocks of a page in one shell; returns what they print."""
    for name in ("examples", "bench"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").mkdir()
    body = "".join(scripts(page, slow=slow))
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    command = ("sh", "-e", "-c", body)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page: str) -> None:
    places = PLACE.findall((ROOT / page).read_text(encoding="utf-8"))
    missing = [place for place in places if not (ROOT / re.split("NAME|ROOM", place)[0]).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_linked_files_exist(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^):]*\)", (ROOT / page).read_text(encoding="utf-8"))
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page, slow=False)])
def test_commands_run(page: str, tmp_path: Path) -> None:
    run_scripts(page, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page, slow=True)])
def test_slow_commands_run(page: str, tmp_path: Path) -> None:
    printed = run_scripts(page, tmp_path, slow=True)
    if page == "README.md":
        assert blocks(page, "")[1] in printed


def test_readme_shows_what_npu_opt_prints() -> None:
    before, after = blocks("README.md", "mlir")
    assert words(before) in words(tool("npu-opt", MODEL, "--elide-weights"))
    fused = tool("npu-opt", MODEL, "--elide-weights", "-p", "npu-fuse-conv-relu-pool")
    assert words(after) in words(fused)


@pytest.mark.slow
def test_readme_shows_what_the_published_plan_moves(tmp_path: Path) -> None:
    model = tmp_path / "inception_v3.onnx"
    subprocess.run(
        [sys.executable, ROOT / "examples/networks/inception_v3.py", "-o", model, "--no-bias"],
        check=True,
    )
    plan = ("--target", "exynos-npu", "--plan-as", "i8", "--pipeline", "kim2019")
    printed = tool("npu-compile", str(model), *plan, "-o", str(tmp_path / "out"))
    claim = re.search(r"prints ([\d.]+) % in that place", words(README.read_text()))
    assert claim
    assert re.search(rf"^all .* {claim[1]}$", printed, re.MULTILINE)


def test_readme_shows_what_npu_compile_prints(tmp_path: Path) -> None:
    printed = tool("npu-compile", MODEL, "--target", "fe310", "-o", str(tmp_path))
    assert blocks("README.md", "")[0] in printed
    published = tool(
        "npu-compile", MODEL, "--target", "fe310", "-o", str(tmp_path), "--pipeline", "unlu2020"
    )
    claim = re.search(r"the arena of the same network is (\d+) bytes", words(README.read_text()))
    assert claim
    assert re.search(rf"planned: this arena +{claim[1]} ", published)


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
