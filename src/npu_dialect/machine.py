"""The numbers of a machine, read from a TOML file: plain data without xDSL.

Such numbers stand only in the TOML files in `targets/`. Each has a comment with its source or the
word assumption. For another machine, a user copies a file, changes it, and gives its path instead
of a machine's name. The optional table `[toolchain]` says how to build C for the machine. It does
not affect the IR, so `#npu.target` (`target.py`) does not hold it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import cast

from npu_dialect.machine_values import (
    MachineError,
    Table,
    integer,
    rate,
    rates,
    shown,
    string,
    strings,
)
from npu_dialect.memories import Memory, memories_of, reject_unreached, total

TOOLCHAIN = "toolchain"
"""Name of the optional table of a machine's TOML file that says how to build C for it."""

LEAST = {
    "sram_bytes": 1,
    "flash_bytes": 0,
    "alignment": 1,
    "registers": 0,
    "integer_registers": 0,
    "macs": 0,
    "mac_arrays": 0,
    "row_multiple": 1,
    "column_multiple": 1,
    "kernel_group": 0,
    "weight_buffers": 1,
    "ifm_chunks": 1,
    "dma_channels": 0,
    "dma_setup": 0,
    "dma_jump": 0,
    "dma_element": 0,
    "dma_events": 0,
    "dma_peripherals": 0,
    "dma_fifo_bytes": 0,
    "dma_beat_bytes": 0,
    "dma_burst": 0,
    "clock_hz": 0,
    "dma_setup_cycles": 0,
    "dma_jump_cycles": 0,
}
"""The integers of a machine, and the smallest value that each may have."""

RATES = (
    *("sram_bytes_per_cycle", "dma_bytes_per_cycle", "plane_cycles"),
    *("sram_byte_pj", "dram_byte_pj"),
)
"""The numbers of a machine that may be fractions."""

RATES_BY_TYPE = ("macs_per_cycle", "mac_pj")
"""The tables of such numbers, one for each of some element types."""

TABLES = (*RATES_BY_TYPE, "block_cycles")
"""All tables, also those that a machine may do without."""

MOST_OF_PL330 = {"dma_channels": 8, "dma_events": 32, "dma_peripherals": 32}
"""The most that a PL-330 can have: instructions have 3 bits for a channel, 5 for the others."""

MOST_JUMP_OF_PL330 = 255
"""Bytes of the longest loop body of a PL-330, as the jump back has 8 bits."""

WORKING_MEMORY = ("none", "stride-1-map")
"""Rules for the on-chip memory that a layer needs besides its maps and weights. `none`: no such
memory. `stride-1-map`: a strided convolution computes its whole output map at stride 1 first, and
then drops the elements that the stride skips."""

ELEMENT_BYTES = 4
"""Bytes of an element in the costs C, p and t of paper 004, whose maps hold f32."""


LARGEST_FILE = 2**15
"""The most characters of a machine's TOML file. The limit is there because the time and memory that
Python takes for dotted keys (`a.a.a = 1`) grow with the square of their length. Our files have
fewer than 2500 characters."""


@dataclass(frozen=True)
class Machine:
    """The numbers of one machine.

    Sizes are in bytes. `alignment` is the least alignment of every buffer in the arena. `registers`
    is the number of floating-point values that the core holds at once (0: no FPU); it bounds
    register blocking. `integer_registers` are those on which its arithmetic on integers works
    (0: unknown). `features` names instruction-set extensions. Passes ask for "dsp": two
    16-bit multiply-accumulates in one instruction (Armv7E-M, through ACLE), and for "mve": vectors
    of 16 bytes (Armv8.1-M with Helium and floats).

    These fields are for a neural processor (paper 001, section 4). It has `macs` units in
    `mac_arrays` arrays. The height and width of each map on chip are rounded up to multiples of
    `row_multiple` and `column_multiple`. The weights of `kernel_group` kernels are on chip at once
    (0: weights are read where they lie), in `weight_buffers` buffers (2: double buffering). A map
    is fetched in `ifm_chunks` chunks of its channels. `working_memory` is one of WORKING_MEMORY.

    A machine with `dma_channels` has off-chip memory that only its DMA engine reaches. Learned
    parameters, inputs and outputs lie there. A transfer takes `dma_setup`, plus `dma_jump` for each
    address jump, plus `dma_element` for each element (C, p and t of paper 004, section 3), in any
    unit of time.

    These fields are for a PL-330, a DMA engine that runs programs; all are 0 for another engine. It
    has `dma_events` events between its channels and the core, and can serve `dma_peripherals`
    peripherals. All channels together hold at most `dma_fifo_bytes` in the MFIFO. A burst has at
    most `dma_burst` beats of at most `dma_beat_bytes` bytes.

    These fields say how long things take, in cycles of the core, of which there are `clock_hz` a
    second. 0, or no number, means unknown. The core does `macs_per_cycle` multiply-accumulates in a
    cycle; that is a number for each element type (f32, i8). It reads and writes
    `sram_bytes_per_cycle` on chip. A transfer takes `dma_setup_cycles`, plus `dma_jump_cycles` for
    each address jump, and then one cycle for `dma_bytes_per_cycle` bytes; all channels share that
    rate. `dma_setup` and `dma_jump` follow from these if a file has `dma_element` but not them.
    `block_cycles` is what the core takes for an element (f32, i8) that moves in one direction
    without zero blocks, and `plane_cycles` what it takes for a byte that moves as bit planes. No
    number: the DMA engine does it by itself; but a core that has `block_cycles` and no
    `plane_cycles` does not know bit planes.

    These fields are energies in pJ: of a multiply-accumulate (`mac_pj`, for each element type), of
    a byte that the core reads or writes on chip (`sram_byte_pj`), and of a byte that crosses the
    chip's border (`dram_byte_pj`).

    `memory` are the memories of a machine whose file has `[[memory]]` tables. Then `sram_bytes` is
    the sum of those that can be written, and `flash_bytes`, if there are such, that of the others;
    `sram_bytes_per_cycle` is the rate at which the first one is read.

    A number of time or energy may be a fraction (`0.25`) of at most 15 digits; it is kept exactly.
    """

    name: str
    sram_bytes: int
    flash_bytes: int
    alignment: int = 1
    registers: int = 16
    features: tuple[str, ...] = ()
    macs: int = 0
    mac_arrays: int = 0
    row_multiple: int = 1
    column_multiple: int = 1
    kernel_group: int = 0
    weight_buffers: int = 1
    ifm_chunks: int = 1
    dma_channels: int = 0
    dma_setup: int = 0
    dma_jump: int = 0
    dma_element: int = 0
    dma_events: int = 0
    dma_peripherals: int = 0
    dma_fifo_bytes: int = 0
    dma_beat_bytes: int = 0
    dma_burst: int = 0
    working_memory: str = "none"
    clock_hz: int = 0
    macs_per_cycle: tuple[tuple[str, Fraction], ...] = ()
    sram_bytes_per_cycle: Fraction = Fraction()
    dma_bytes_per_cycle: Fraction = Fraction()
    dma_setup_cycles: int = 0
    dma_jump_cycles: int = 0
    mac_pj: tuple[tuple[str, Fraction], ...] = ()
    sram_byte_pj: Fraction = Fraction()
    dram_byte_pj: Fraction = Fraction()
    block_cycles: tuple[tuple[str, Fraction], ...] = ()
    memory: tuple[Memory, ...] = ()
    plane_cycles: Fraction = Fraction()
    integer_registers: int = 0

    def __post_init__(self) -> None:
        """Check the ranges of all numbers.

        Raises: MachineError if a number is out of range.
        """
        for key, least in LEAST.items():
            integer(key, getattr(self, key), least)
        for key in RATES:
            rate(key, getattr(self, key))
        for key, cost in self._costs_in_cycles().items():
            if getattr(self, key) not in (0, cost):
                raise MachineError(
                    f"expected {key} to be {cost}, the elements of {ELEMENT_BYTES} bytes that move "
                    f"in {key}_cycles, got {getattr(self, key)}"
                )
        if self.alignment & (self.alignment - 1):
            raise MachineError(f"expected alignment to be a power of two, got {self.alignment}")
        for key, most in MOST_OF_PL330.items():
            if self.dma_fifo_bytes and getattr(self, key) > most:
                raise MachineError(
                    f"expected {key} to be at most {most} on a PL-330 (dma_fifo_bytes), "
                    f"got {getattr(self, key)}"
                )
        if self.dma_channels:
            reject_unreached(self.memory, pl330=bool(self.dma_fifo_bytes))
        if self.working_memory not in WORKING_MEMORY:
            raise MachineError(
                f"expected working_memory to be {' or '.join(WORKING_MEMORY)}, "
                f"got {self.working_memory!r}"
            )

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories for buffers if the machine has several; empty if it has one."""
        writable = tuple(each for each in self.memory if not each.read_only)
        return writable if len(writable) > 1 else ()

    @property
    def planned(self) -> Memory | None:
        """The one of several memories that maps and tiles are planned for beside a DMA engine.

        It is the largest one that the engine reaches, the first one of several, so that a plan that
        fits has a place for each buffer. None if there is one memory, or no DMA engine.
        """
        reached = [each for each in self.memories if each.dma]
        if not self.dma_channels or not reached:
            return None
        return max(reached, key=lambda each: each.bytes)

    @property
    def planned_bytes(self) -> int:
        """The bytes on chip that maps and tiles are planned for."""
        return self.sram_bytes if self.planned is None else self.planned.bytes

    @property
    def stored(self) -> Memory | None:
        """The memory of constants, of several the first; None if the file names none."""
        return next((each for each in self.memory if each.read_only), None)

    @property
    def stores(self) -> tuple[Memory, ...]:
        """The memories for constants if the machine has several; empty if it has one, or none."""
        found = tuple(each for each in self.memory if each.read_only)
        return found if len(found) > 1 else ()

    def with_sram(self, sram_bytes: int) -> Machine:
        """The same machine with one memory for buffers, of another size."""
        return replace(self, sram_bytes=sram_bytes, memory=())

    def _costs_in_cycles(self) -> dict[str, int]:
        """`dma_setup` and `dma_jump` as they follow from the numbers of cycles, where they do."""
        if not self.dma_element or not self.dma_bytes_per_cycle:
            return {}
        element = ELEMENT_BYTES / self.dma_bytes_per_cycle
        cycles = {"dma_setup": self.dma_setup_cycles, "dma_jump": self.dma_jump_cycles}
        return {
            key: round(number / element * self.dma_element)
            for key, number in cycles.items()
            if number
        }

    @staticmethod
    def load(name_or_path: str, changes: Table | None = None) -> Machine:
        """A machine that ships with the package, or one from a user's `.toml` file.

        `changes` are keys of the file with other values, or tables of some of a key's numbers.

        A file with `mac_arrays` describes a neural processor, so it must also have `row_multiple`
        and `column_multiple`.

        Raises: MachineError if the name is unknown, or if the file is unreadable or has a wrong
            key.
        """
        table = dict(_read(name_or_path))
        for key, value in (changes or {}).items():
            held = table.get(key)
            both = isinstance(held, dict) and isinstance(value, dict)
            table[key] = {**cast(Table, held), **cast(Table, value)} if both else value
        table.pop(TOOLCHAIN, None)
        for key in ("row_multiple", "column_multiple"):
            if "mac_arrays" in table and key not in table:
                raise MachineError(
                    f"{name_or_path}: missing key {key!r}: the alignment of maps on chip, which "
                    "a machine with mac_arrays has to say (1 for none)"
                )
        return Machine.from_table(table, name_or_path)

    @staticmethod
    def known() -> list[str]:
        """Names of the machines that ship with the package."""
        files = resources.files("npu_dialect.targets").iterdir()
        return sorted(
            file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")
        )

    @staticmethod
    def from_table(table: Table, where: str) -> Machine:
        """A machine from the keys of a TOML file; error messages begin with `where`.

        Raises: MachineError if a key is missing, unknown, or of another type.
        """
        try:
            memory = memories_of(table.get("memory", []))
            table = {**table, **_of_memories(table, memory)}
            _check_keys(table, required=("name", "sram_bytes", "flash_bytes"), kind=Machine)
            numbers = {
                key: integer(key, table[key], least) for key, least in LEAST.items() if key in table
            }
            machine = Machine(
                string("name", table["name"]),
                numbers["sram_bytes"],
                numbers["flash_bytes"],
                features=tuple(strings("features", table.get("features", []))),
                working_memory=string("working_memory", table.get("working_memory", "none")),
            )
            exact = {key: rate(key, table[key]) for key in RATES if key in table}
            by_type = {key: rates(key, table[key]) for key in TABLES if key in table}
            machine = replace(machine, **numbers, **exact, **by_type, memory=memory)
            return replace(
                machine,
                **{
                    key: cost
                    for key, cost in machine._costs_in_cycles().items()
                    if key not in table
                },
            )
        except MachineError as error:
            raise MachineError(f"{where}: {error}") from None


@dataclass(frozen=True)
class Toolchain:
    """How to build C for a machine: the compiler to start, and the flags that choose the core."""

    compiler: str
    flags: tuple[str, ...] = ()

    @staticmethod
    def load(name_or_path: str) -> Toolchain | None:
        """The toolchain in a machine's TOML file; None if it has none.

        Raises: MachineError, as for `Machine.load`.
        """
        table = _read(name_or_path).get(TOOLCHAIN)
        if table is None:
            return None
        try:
            if not isinstance(table, dict):
                raise MachineError(f"expected a table, got {table!r}")
            table = cast(Table, table)
            _check_keys(table, required=("compiler",), kind=Toolchain)
            return Toolchain(
                string("compiler", table["compiler"]),
                tuple(strings("flags", table.get("flags", []))),
            )
        except MachineError as error:
            raise MachineError(f"{name_or_path}: {TOOLCHAIN}: {error}") from None


def _read(name_or_path: str) -> Table:
    """The keys and values of a machine's TOML file, by the machine's name or the file's path."""
    if name_or_path.endswith(".toml"):
        try:
            with Path(name_or_path).open(encoding="utf-8") as stream:
                text = stream.read(LARGEST_FILE + 1)
        except OSError as error:
            raise MachineError(f"{name_or_path}: cannot read it: {error.strerror}") from None
        except UnicodeDecodeError:
            raise MachineError(f"{name_or_path}: not a TOML file: not UTF-8 text") from None
        if len(text) > LARGEST_FILE:
            raise MachineError(f"{name_or_path}: expected at most {LARGEST_FILE} characters")
    elif name_or_path in (known := Machine.known()):
        file = resources.files("npu_dialect.targets") / f"{name_or_path}.toml"
        text = file.read_text(encoding="utf-8")
    else:
        raise MachineError(
            f"unknown target {name_or_path!r}: expected one of {', '.join(known)}, "
            "or the path of a .toml file"
        )
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise MachineError(f"{name_or_path}: not a TOML file: nested too deep") from None
    except ValueError as error:  # TOMLDecodeError, or Python's error for a number
        raise MachineError(f"{name_or_path}: not a TOML file: {error}") from None


def _check_keys(table: Table, required: tuple[str, ...], kind: type[Machine | Toolchain]) -> None:
    """Check that a table has all required keys and no unknown ones.

    Raises: MachineError if it does not.
    """
    known = [item.name for item in fields(kind)]
    for key in table:
        if key not in known:
            raise MachineError(f"unknown key {key!r}: expected {', '.join(known)}")
    for key in required:
        if key not in table:
            raise MachineError(f"missing key {key!r}")


def _of_memories(table: Table, memory: Sequence[Memory]) -> dict[str, object]:
    """The keys of a machine as they follow from its memories.

    Raises: MachineError if the table has other numbers.
    """
    if not memory:
        return {}
    first = next(each for each in memory if not each.read_only)
    found: dict[str, object] = {
        "sram_bytes": total(memory, read_only=False),
        "flash_bytes": total(memory, read_only=True),
        "sram_bytes_per_cycle": first.read_bytes_per_cycle,
    }
    for key, number in found.items():
        if number and table.get(key, number) != number:
            raise MachineError(
                f"expected {key} to be {number}, as the memories say, got {shown(table[key])}"
            )
    return {key: number for key, number in found.items() if number}
