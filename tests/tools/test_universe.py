"""The plug-in: plain xdsl-opt has all our passes, the tables are right, imports only run down."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

import npu_dialect
import npu_passes
from npu_tools.universe import DIALECTS, NPU_UNIVERSE, PASSES, TARGETS

XDSL_OPT = Path(sys.executable).parent / "xdsl-opt"

NETWORK = """
func.func @f(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %w = arith.constant dense<1.0> : tensor<1x1x1x1xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>
  func.return %p : tensor<1x1x2x2xf32>
}
"""


def xdsl_opt(*options: str, text: str = NETWORK) -> str:
    """The output of plain xdsl-opt for a text."""
    command = [str(XDSL_OPT), *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def xdsl_help() -> str:
    """The help of plain xdsl-opt, on one line."""
    return " ".join(xdsl_opt("--help").split())


@pytest.mark.parametrize("name", [*PASSES, *TARGETS])
def test_xdsl_opt_lists(name: str, xdsl_help: str) -> None:
    """The help may break long names at their hyphens."""
    assert name in xdsl_help.replace("- ", "-").replace(",", " ").replace("}", " ").split()


def test_xdsl_opt_runs_a_pass() -> None:
    assert "then max_pool [2, 2] by [2, 2] :" in xdsl_opt("-p", "npu-fuse-conv-relu-pool")


def test_xdsl_opt_prints_c() -> None:
    road = "npu-fuse-conv-relu-pool,npu-bufferize,npu-assign-sram-offsets,npu-lower-to-loops"
    assert "int f_run(" in xdsl_opt("-p", road, "-t", "c")


def test_entry_point_is_the_table() -> None:
    (entry,) = (point for point in entry_points(group="xdsl.universe") if point.name == "npu")
    assert entry.load() is NPU_UNIVERSE
    multiverse = Universe.get_multiverse()
    assert multiverse.all_dialects.keys() >= DIALECTS.keys()
    assert multiverse.all_passes.keys() >= PASSES.keys()
    assert multiverse.all_targets.keys() >= TARGETS.keys()


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect_exists(name: str) -> None:
    dialect = NPU_UNIVERSE.all_dialects[name]()
    operations = [op.name for op in dialect.operations]
    assert dialect.name == name
    assert operations
    assert all(op.startswith(f"{name}.") for op in operations)


@pytest.mark.parametrize("name", PASSES)
def test_pass_exists(name: str) -> None:
    kind = NPU_UNIVERSE.all_passes[name]()
    assert issubclass(kind, ModulePass)
    assert kind.name == name
    assert name.startswith(("npu-", "pl330-")) or name.endswith("-to-npu")


@pytest.mark.parametrize("name", TARGETS)
def test_target_exists(name: str) -> None:
    kind = NPU_UNIVERSE.all_targets[name]()
    assert issubclass(kind, Target)
    assert kind.name == name


def test_listing_imports_no_pass() -> None:
    """A tool that only lists the passes does not import them."""
    code = (
        "import sys, npu_tools.universe; "
        "print([m for m in sys.modules if m.startswith(('npu_passes.', 'npu_dialect.', 'numpy'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


@pytest.mark.parametrize(
    ("package", "above"),
    [(npu_dialect, ("npu_passes", "npu_tools")), (npu_passes, ("npu_tools",))],
    ids=["npu_dialect", "npu_passes"],
)
def test_imports_run_down(package: object, above: tuple[str, ...]) -> None:
    (folder,) = getattr(package, "__path__")
    files = sorted(Path(folder).rglob("*.py"))
    assert len(files) > 5
    found = [
        f"{path.relative_to(folder)} imports {module}"
        for path in files
        for module in imports(path)
        if module.split(".")[0] in above
    ]
    assert found == []
