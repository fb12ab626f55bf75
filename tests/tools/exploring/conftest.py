"""A small network, and a machine with DMA whose SRAM is too small for some of its maps."""

from pathlib import Path

import pytest

from helpers.networks.zoo import TINY, build
from helpers.small_models import SaveModel

MACHINE = """
name = "tiny"
sram_bytes = 4096
flash_bytes = 1000000
dma_channels = 2
clock_hz = 1000000
macs_per_cycle = { f32 = 1, i8 = 4 }
sram_bytes_per_cycle = 4
dma_bytes_per_cycle = 2
dma_setup_cycles = 100
dma_jump_cycles = 4
mac_pj = { f32 = 4, i8 = 0.5 }
sram_byte_pj = 10
dram_byte_pj = 200
"""


@pytest.fixture
def lenet5(save: SaveModel) -> Path:
    """A small LeNet-5."""
    return save(build("lenet5", **TINY["lenet5"]))


@pytest.fixture
def target(tmp_path: Path) -> str:
    """The path of the machine's file."""
    path = tmp_path / "tiny.toml"
    path.write_text(MACHINE)
    return str(path)
