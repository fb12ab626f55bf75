"""Memories of a machine, from the `[[memory]]` tables of its file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from npu_dialect.machine import Machine
from npu_dialect.machine_values import MachineError
from npu_dialect.target import TargetAttr

TABLES = """\
name = "board"
[[memory]]
name = "dtcm"
bytes = 1024
read_bytes_per_cycle = 8
dma = false
[[memory]]
name = "psram"
bytes = 4096
read_bytes_per_cycle = 0.5
write_bytes_per_cycle = 0.25
[[memory]]
name = "flash"
bytes = 8192
read_bytes_per_cycle = 1
read_only = true
"""


def load(folder: Path, text: str) -> Machine:
    """The machine of a file with the given text."""
    path = folder / "board.toml"
    path.write_text(text, encoding="utf-8")
    return Machine.load(str(path))


def test_sizes_and_the_rate_follow_from_the_tables(tmp_path: Path) -> None:
    machine = load(tmp_path, TABLES)
    assert (machine.sram_bytes, machine.flash_bytes) == (1024 + 4096, 8192)
    assert machine.sram_bytes_per_cycle == 8
    assert [each.name for each in machine.memories] == ["dtcm", "psram"]
    assert machine.memories[1].write_bytes_per_cycle == Fraction(1, 4)
    assert machine.memories[0].write_bytes_per_cycle == 8
    assert TargetAttr.of(machine).to_machine() == machine


def test_one_memory_that_can_be_written_is_a_machine_with_one_memory(tmp_path: Path) -> None:
    one = TABLES.replace('name = "psram"', 'name = "psram"\nread_only = true')
    machine = load(tmp_path, one)
    assert [each.name for each in machine.stores] == ["psram", "flash"]
    assert load(tmp_path, TABLES).stores == ()
    assert machine.sram_bytes == 1024
    assert machine.flash_bytes == 4096 + 8192
    assert machine.memories == ()


def test_another_size_means_one_memory(tmp_path: Path) -> None:
    machine = load(tmp_path, TABLES).with_sram(99)
    assert (machine.sram_bytes, machine.flash_bytes, machine.memory) == (99, 8192, ())
    assert TargetAttr.of(machine).to_machine() == machine


@pytest.mark.parametrize("key", ["sram_bytes = 5", "flash_bytes = 5", "sram_bytes_per_cycle = 1"])
def test_a_number_that_contradicts_the_tables_is_an_error(tmp_path: Path, key: str) -> None:
    with pytest.raises(MachineError, match=f"expected {key.split()[0]} to be .* as the memories"):
        load(tmp_path, f"{key}\n{TABLES}")


@pytest.mark.parametrize("value", ["3", "[3]", '["dtcm"]'])
def test_memory_that_is_no_table_is_an_error(tmp_path: Path, value: str) -> None:
    text = f'name = "m"\nsram_bytes = 1\nflash_bytes = 0\nmemory = {value}\n'
    with pytest.raises(MachineError, match=r"expected memory to be tables \[\[memory\]\]"):
        load(tmp_path, text)


def test_shipped_boards_have_their_memories() -> None:
    found = {name: Machine.load(name).memories for name in Machine.known()}
    sizes = {name: [each.bytes >> 10 for each in some] for name, some in found.items() if some}
    assert sizes == {
        "esp32s3": [512, 8192],
        "mps3-an547": [512, 4096],
        "rp2350": [520, 8192],
        "stm32h743": [128, 512, 288],
    }


ENGINE = "dma_channels = 2\n"


def test_a_dma_engine_plans_for_the_largest_memory_that_it_reaches(tmp_path: Path) -> None:
    plain = load(tmp_path, TABLES)
    assert (plain.planned, plain.planned_bytes) == (None, 1024 + 4096)
    machine = load(tmp_path, ENGINE + TABLES)
    assert machine.planned == machine.memories[1]
    assert machine.planned_bytes == 4096
    both = load(tmp_path, ENGINE + TABLES.replace("dma = false", "").replace("4096", "1024"))
    assert both.planned == both.memories[0]
    one = load(tmp_path, ENGINE + TABLES.replace("dma = false", "read_only = true"))
    assert (one.planned, one.planned_bytes) == (None, 4096)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ENGINE + TABLES.replace('"psram"', '"psram"\ndma = false'),
            "expected a memory with dma = true on a machine with dma_channels, as its DMA engine "
            "moves maps there, got dtcm, psram without",
        ),
        (
            ENGINE + "dma_fifo_bytes = 512\n" + TABLES,
            r"expected one memory that is not read_only on a machine with a PL-330 "
            r"\(dma_fifo_bytes\), got dtcm, psram",
        ),
        (TABLES.replace('"psram"', '""'), "expected name of a memory not to be empty"),
    ],
)
def test_memories_that_cannot_be(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=message):
        load(tmp_path, text)
