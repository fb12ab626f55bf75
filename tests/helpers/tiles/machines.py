"""Machines for tests of tiles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from npu_dialect.machine import Machine

MACHINE = Machine("m", 1 << 20, 0, dma_channels=4)

TIMED: dict[str, Any] = {
    "dma_setup_cycles": 10,
    "dma_jump_cycles": 3,
    "dma_bytes_per_cycle": Fraction(2),
    "sram_bytes_per_cycle": Fraction(16),
}
"""Numbers of time, with which some tiles are faster than others."""
