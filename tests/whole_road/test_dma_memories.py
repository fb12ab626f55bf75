"""Networks on machines with a DMA engine and several memories, from the model to C on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.networks.zoo import TINY, build
from helpers.onnx_models import chain
from helpers.random_onnx import random_model
from npu_dialect.arenas import memory_of_type
from npu_dialect.dma import StartOp
from npu_dialect.target import machine_of
from npu_passes.overlap.overlap import in_dram
from npu_tools.commands import compile as command
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.verify import verify

HEAD = """\
name = "several"
alignment = 4
dma_channels = 2
clock_hz = 1000000
macs_per_cycle = { f32 = 1 }
dma_bytes_per_cycle = 4
dma_setup_cycles = 50
dma_jump_cycles = 4
"""
MEMORY = """\
[[memory]]
name = "{name}"
bytes = {bytes}
read_bytes_per_cycle = {rate}
alignment = {alignment}
dma = {dma}
"""
FLASH = """\
[[memory]]
name = "far"
bytes = 100000000
read_bytes_per_cycle = 4
read_only = true
"""


@dataclass(frozen=True)
class Table:
    """A `[[memory]]` table."""

    name: str
    bytes: int
    dma: bool
    rate: int = 4
    alignment: int = 1

    @property
    def text(self) -> str:
        """The table as it stands in a file."""
        dma = str(self.dma).lower()
        return MEMORY.format(**{**vars(self), "dma": dma})


def machine(folder: Path, *tables: Table) -> str:
    """The file of a machine with a DMA engine and these memories."""
    path = folder / "several.toml"
    path.write_text("".join([HEAD, *(each.text for each in tables), FLASH]), encoding="utf-8")
    return str(path)


def check_transfers(step: str, module: ModuleOp) -> None:
    """Check that transfers move what lies in memories that the engine reaches."""
    found = machine_of(module)
    assert found is not None
    reached = {each.name for each in found.memories if each.dma}
    for op in module.walk():
        if isinstance(op, StartOp) and step == "npu-split-transfers":
            near = [each for each in (op.source, op.target) if not in_dram(each)]
            assert all(memory_of_type(each.type) in reached for each in near)


def compiled(model: Path, target: str) -> Compiled:
    """A network whose C moves what the report says, in as many cycles, and computes the same."""
    done = compile_model(Job(model, target, observers=(check_transfers,)))
    result = verify(done, None, 0)
    assert result.close
    return done


FAST, BIG = Table("fast", 3072, dma=False, rate=8), Table("big", 16384, dma=True)


@pytest.mark.slow
def test_maps_that_no_transfer_moves_lie_in_fast_memory(tmp_path: Path) -> None:
    """The fast memory is out of the engine's reach."""
    path = tmp_path / "net.onnx"
    path.write_bytes(build("resnet8", **TINY["resnet8"]).SerializeToString())
    done = compiled(path, machine(tmp_path, FAST, replace(BIG, bytes=40000)))
    assert [each.memory for each in done.report.arenas] == ["fast", "big"]
    header = str(done.files[f"{done.name}.h"])
    assert "void *fast, void *big" in header


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a user sees: `--verify` agrees, also on bytes and cycles."""
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    target = machine(tmp_path, replace(FAST, bytes=300), replace(BIG, bytes=900))
    out = str(tmp_path / "out")
    assert (
        command.main([str(tmp_path / "net.onnx"), "--target", target, "-o", out, "--verify"]) == 0
    )
    said = capsys.readouterr().out
    assert "verify: moved over the border of the chip what the report says" in said
    assert "verify: takes the cycles that the report says" in said


def test_no_memory_is_large_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_bytes(chain().SerializeToString())
    target = machine(tmp_path, FAST, replace(BIG, bytes=16))
    assert command.main([str(tmp_path / "net.onnx"), "--target", target]) == 1
    said = capsys.readouterr().err
    assert said.count("error") == 1
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v2"])
def test_networks(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(build(name, **TINY[name]).SerializeToString())
    compiled(path, machine(tmp_path, FAST, BIG, Table("other", 8192, dma=True, rate=2)))


SIZES = st.sampled_from([600, 1024, 3072, 8192, 16384])
TABLES = st.lists(
    st.tuples(SIZES, st.booleans(), st.sampled_from([1, 2, 8]), st.sampled_from([1, 4, 16])),
    min_size=2,
    max_size=3,
).filter(lambda tables: any(dma for _, dma, _, _ in tables))


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(TABLES, st.integers(0, 10_000))
def test_random_machines(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[tuple[int, bool, int, int]],
    seed: int,
) -> None:
    """With 100 KB more in one memory that the engine reaches, so that every network fits."""
    folder = tmp_path_factory.mktemp("machine")
    graph, _ = random_model(seed)
    (folder / "net.onnx").write_bytes(graph.SerializeToString())
    tables = [
        Table(f"m{index}", size, dma, rate, alignment)
        for index, (size, dma, rate, alignment) in enumerate(sizes)
    ]
    first = next(index for index, each in enumerate(tables) if each.dma)
    tables[first] = replace(tables[first], bytes=tables[first].bytes + 100_000)
    compiled(folder / "net.onnx", machine(folder, *tables))
