"""Machines from TOML files, and `#npu.target`."""

from __future__ import annotations

import shutil
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import RATES_BY_TYPE, Machine, Toolchain
from npu_dialect.machine_values import MachineError
from npu_dialect.npu import NPU
from npu_dialect.target import TargetAttr, machine_of

GOOD = 'name = "mine"\nsram_bytes = 4096\nflash_bytes = 8192\n'


def write(folder: Path, text: str | bytes) -> str:
    """A machine file with the given text."""
    path = folder / "my machine.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_known_machines_load() -> None:
    arm = ["cortex-m0", "cortex-m4", "cortex-m55", "cortex-m7", "cortex-m85"]
    others = ["esp32s3", "exynos-npu", "fe310", "host", "mps3-an547", "nrf5340"]
    boards = ["rp2040", "rp2350", "stm32h743", "zynq7020"]
    assert Machine.known() == [*arm, *others, *boards]
    for name in Machine.known():
        assert Machine.load(name).name == name
        assert Toolchain.load(name) is not None


def test_fe310_is_the_papers_microcontroller() -> None:
    machine = Machine.load("fe310")
    assert (machine.sram_bytes, machine.flash_bytes) == (16 * 1024, 16 * 1024 * 1024)
    assert machine.features == ("rv32imac",)
    assert machine.registers == 0


ALWAYS = ("clock_hz", "macs_per_cycle", "sram_bytes_per_cycle", "mac_pj", "sram_byte_pj")
WITH_DMA = ("dma_bytes_per_cycle", "dma_setup_cycles", "dma_jump_cycles", "dram_byte_pj")


@pytest.mark.parametrize("name", Machine.known())
def test_each_machine_has_its_numbers_of_time_and_energy(name: str) -> None:
    machine = Machine.load(name)
    assert all(getattr(machine, key) for key in ALWAYS)
    assert [bool(getattr(machine, key)) for key in WITH_DMA] == [machine.dma_channels > 0] * 4
    for key in RATES_BY_TYPE:
        assert [type_ for type_, _ in getattr(machine, key)] == ["f32", "i8"]
    assert TargetAttr.of(machine).to_machine() == machine


def test_a_file_without_numbers_of_time_knows_none(tmp_path: Path) -> None:
    machine = Machine.load(write(tmp_path, GOOD))
    assert not any(getattr(machine, key) for key in (*ALWAYS, *WITH_DMA))


def test_cycles_of_a_transfer_agree_with_the_papers_costs() -> None:
    """C and p of paper 004 are the same in cycles, for elements of 4 bytes."""
    having = [machine for machine in map(Machine.load, Machine.known()) if machine.dma_element]
    assert [machine.name for machine in having] == ["zynq7020"]
    for machine in having:
        element = 4 / machine.dma_bytes_per_cycle / machine.dma_element
        assert machine.dma_setup * element == machine.dma_setup_cycles
        assert machine.dma_jump * element == machine.dma_jump_cycles
    assert (having[0].dma_setup, having[0].dma_jump, having[0].dma_element) == (5623, 1, 1)


CYCLES = "dma_bytes_per_cycle = 2\ndma_setup_cycles = 30\ndma_jump_cycles = 4\n"


def test_the_papers_costs_follow_from_cycles(tmp_path: Path) -> None:
    machine = Machine.load(write(tmp_path, f"{GOOD}{CYCLES}dma_element = 3\n"))
    assert (machine.dma_setup, machine.dma_jump) == (45, 6)
    assert TargetAttr.of(machine).to_machine() == machine
    without = Machine.load(write(tmp_path, f"{GOOD}{CYCLES}"))
    assert (without.dma_setup, without.dma_jump) == (0, 0)
    assert Machine.load(write(tmp_path, f"{GOOD}{CYCLES}dma_setup = 9\n")).dma_setup == 9


def test_costs_that_contradict_the_cycles(tmp_path: Path) -> None:
    path = write(tmp_path, f"{GOOD}{CYCLES}dma_element = 3\ndma_setup = 44\n")
    with pytest.raises(MachineError, match="expected dma_setup to be 45, the elements of 4 bytes"):
        Machine.load(path)


def test_fractions_are_exact(tmp_path: Path) -> None:
    """0.1 and 123456789012.345 are no binary fractions."""
    text = f"{GOOD}macs_per_cycle = {{ i8 = 0.1 }}\nsram_byte_pj = 123456789012.345\n"
    machine = Machine.load(write(tmp_path, text))
    assert dict(machine.macs_per_cycle) == {"i8": Fraction(1, 10)}
    assert machine.sram_byte_pj == Fraction(123456789012345, 1000)
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(NPU)
    parsed = Parser(context, str(TargetAttr.of(machine))).parse_attribute()
    assert isinstance(parsed, TargetAttr)
    assert parsed.to_machine() == machine


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("macs_per_cycle = 4", "expected macs_per_cycle to be a table of element types, got 4"),
        ("mac_pj = { f16 = 4 }", "expected mac_pj for f32 or i8, got 'f16'"),
        ("mac_pj = { i8 = 0.0 }", "expected mac_pj of i8 to be above 0, got 0"),
        *(
            (
                f"sram_byte_pj = {text}",
                "expected sram_byte_pj to be a number of at least 0 and of at most 15 digits, "
                f"got {shown}",
            )
            for text, shown in {
                **{each: each for each in ("-1", "-0.5", "0.123456789012345678")},
                **{"nan": "NaN", "inf": "Infinity", "1e999999999": "1E+999999999"},
                **{"1e-999999999": "1E-999999999", "true": "True", "'1'": "'1'"},
                **{"1000000000000000": "1000000000000000"},
            }.items()
        ),
    ],
)
def test_rates_that_are_none(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MachineError) as error:
        Machine.load(write(tmp_path, f"{GOOD}{line}\n"))
    assert message in str(error.value)


def test_a_machine_whose_rate_is_no_decimal() -> None:
    with pytest.raises(MachineError, match="expected dma_bytes_per_cycle to be a number"):
        Machine("m", 1, 0, dma_bytes_per_cycle=Fraction(8, 3))


@pytest.mark.parametrize("number", [IntegerAttr(4, i32), FloatAttr(0.5, f32), StringAttr("4")])
def test_rates_in_the_attribute_are_i64_or_f64(number: Attribute) -> None:
    numbers = {**TargetAttr.of(Machine("m", 1, 0)).numbers.data}
    numbers["macs_per_cycle"] = DictionaryAttr({"i8": number})
    with pytest.raises(VerifyException, match="each number of macs_per_cycle to be an i64 or an"):
        TargetAttr(StringAttr("m"), DictionaryAttr(numbers))


def test_which_machines_have_dsp_instructions() -> None:
    """The feature that `npu-lower-to-loops` asks for, also after a round trip in `#npu.target`."""
    having = [name for name in Machine.known() if "dsp" in Machine.load(name).features]
    cores = ["cortex-m4", "cortex-m55", "cortex-m7", "cortex-m85"]
    assert having == [*cores, "mps3-an547", "nrf5340", "rp2350", "stm32h743"]
    for name in having:
        assert "dsp" in TargetAttr.of(Machine.load(name)).to_machine().features


@pytest.mark.parametrize("name", Machine.known())
def test_every_number_has_a_comment(name: str) -> None:
    text = (resources.files("npu_dialect.targets") / f"{name}.toml").read_text(encoding="utf-8")
    numbers = [line for line in text.splitlines() if line.partition("=")[2].strip()[:1].isdigit()]
    assert len(numbers) >= 3
    assert all("#" in line for line in numbers)


def test_a_users_copy(tmp_path: Path) -> None:
    source = resources.files("npu_dialect.targets") / "fe310.toml"
    with resources.as_file(source) as path:
        shutil.copy(path, tmp_path / "mine.toml")
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8").replace("16384", "8192")
    machine = Machine.load(write(tmp_path, text))
    assert machine.sram_bytes == 8192
    assert Toolchain.load(write(tmp_path, text)) == Toolchain.load("fe310")


def test_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert Machine.load(path) == Machine("mine", 4096, 8192, 1, 16, ())
    assert Toolchain.load(path) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "ram = 3", "unknown key 'ram': expected name, sram_bytes"),
        (GOOD.replace("flash_bytes = 8192", ""), "missing key 'flash_bytes'"),
        (GOOD.replace("4096", '"4096"'), "expected sram_bytes to be an integer of at least 1, got"),
        (GOOD.replace("4096", "true"), "expected sram_bytes to be an integer of at least 1, got T"),
        (GOOD.replace("4096", "4096.0"), "expected sram_bytes to be an integer"),
        (GOOD.replace("4096", "0"), "expected sram_bytes to be an integer of at least 1, got 0"),
        (GOOD.replace("4096", "1" + "0" * 30), "expected sram_bytes to be an integer"),
        (GOOD.replace("8192", "-1"), "expected flash_bytes to be an integer of at least 0, got -1"),
        (GOOD + "registers = -1", "expected registers to be an integer of at least 0, got -1"),
        (GOOD + "alignment = 6", "expected alignment to be a power of two, got 6"),
        (GOOD + "mac_arrays = 4", "missing key 'row_multiple': the alignment of maps on chip"),
        (GOOD + "mac_arrays = 4\nrow_multiple = 4", "missing key 'column_multiple': the alignment"),
        (GOOD + "alignment = false", "expected alignment to be an integer of at least 1"),
        (GOOD + "alignment = []", "expected alignment to be an integer of at least 1"),
        (GOOD.replace('"mine"', "3"), "expected name to be a string, got 3"),
        (GOOD.replace('"mine"', '""'), "expected name not to be empty"),
        (GOOD.replace("mine", "a\\u0000b"), "expected name without control characters, got 'a"),
        (GOOD + "row_multiple = 2147483648", "expected row_multiple to be at most 65536, got 214"),
        (GOOD + 'features = "dsp"', "expected features to be a list of strings, got 'dsp'"),
        (GOOD + 'features = ["dsp", 3]', "expected each of features to be a string, got 3"),
        ("name = ", "not a TOML file: "),
        (b"name = '\xff'", "not a TOML file: not UTF-8 text"),
    ],
)
def test_bad_machine_is_one_clear_error(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(MachineError) as error:
        Machine.load(path)
    assert str(error.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[toolchain]", "missing key 'compiler'"),
        ('[toolchain]\ncompiler = ["gcc"]', "expected compiler to be a string, got ['gcc']"),
        ('[toolchain]\ncompiler = "gcc"\nflags = "-O2"', "expected flags to be a list of strings"),
        ('[toolchain]\ncompiler = "gcc"\nbits = 3', "unknown key 'bits': expected compiler, flags"),
        ("toolchain = 3", "expected a table, got 3"),
    ],
)
def test_bad_toolchain_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, GOOD + text)
    with pytest.raises(MachineError) as error:
        Toolchain.load(path)
    assert str(error.value).startswith(f"{path}: toolchain: {message}")


def test_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path):
        name = str(path) if path.suffix else str(shutil.move(path, path.with_suffix(".toml")))
        with pytest.raises(MachineError, match="cannot read it: "):
            Machine.load(name)


def test_unknown_machine_lists_those_that_exist() -> None:
    with pytest.raises(MachineError, match=r"unknown target 'z80': expected one of cortex-m0, .*"):
        Machine.load("z80")


@pytest.mark.parametrize("name", Machine.known())
def test_attribute_round_trip(name: str) -> None:
    machine = Machine.load(name)
    module = ModuleOp([], attributes={TARGET.name: TargetAttr.of(machine)})
    module.verify()
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(NPU)
    parsed = Parser(context, str(module)).parse_module()
    assert machine_of(parsed) == machine


def test_module_without_a_machine() -> None:
    assert machine_of(ModuleOp([])) is None


SIZES: dict[str, Attribute] = {
    "sram_bytes": IntegerAttr(64, i64),
    "flash_bytes": IntegerAttr(64, i64),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sram_bytes": IntegerAttr(0, i64)}, "expected sram_bytes to be an integer of at least 1"),
        (
            {"sram_bytes": IntegerAttr(64, i32)},
            "expected each number of sram_bytes to be an i64 or an f64",
        ),
        (
            {"sram_bytes": i64},
            "expected sram_bytes to be a number, a string, a list or a table",
        ),
        ({"flash_bytes": StringAttr("64")}, "expected flash_bytes to be an integer"),
        (
            {"working_memory": StringAttr("much")},
            "expected working_memory to be none or stride-1-map",
        ),
        ({"cores": IntegerAttr(2, i64)}, "unknown key 'cores'"),
        ({"features": ArrayAttr([i64])}, "expected features to be a list of strings"),
        ({"name": ArrayAttr([])}, "the name stands before the numbers"),
    ],
)
def test_bad_attribute(change: dict[str, Attribute], message: str) -> None:
    with pytest.raises(VerifyException, match=rf"#npu\.target: {message}"):
        TargetAttr(StringAttr("mine"), DictionaryAttr({**SIZES, **change}))


def test_attribute_without_sizes() -> None:
    with pytest.raises(VerifyException, match=r"#npu\.target: missing key 'sram_bytes'"):
        TargetAttr(StringAttr("mine"), DictionaryAttr({}))
