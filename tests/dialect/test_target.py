"""Machines from TOML files, and `#npu.target`."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine, MachineError, Toolchain
from npu_dialect.npu import NPU
from npu_dialect.target import TargetAttr, machine_of

GOOD = 'name = "mine"\nsram_bytes = 4096\nflash_bytes = 8192\n'


def write(folder: Path, text: str | bytes) -> str:
    """A machine file with the given text."""
    path = folder / "my machine.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_known_machines_load() -> None:
    arm = ["cortex-m0", "cortex-m4", "cortex-m7"]
    assert Machine.known() == [*arm, "exynos-npu", "fe310", "host", "zynq7020"]
    for name in Machine.known():
        assert Machine.load(name).name == name
        assert Toolchain.load(name) is not None


def test_fe310_is_the_papers_microcontroller() -> None:
    machine = Machine.load("fe310")
    assert (machine.sram_bytes, machine.flash_bytes) == (16 * 1024, 16 * 1024 * 1024)
    assert machine.features == ("rv32imac",)
    assert machine.registers == 0


def test_which_machines_have_dsp_instructions() -> None:
    """The feature that `npu-lower-to-loops` asks for, also after a round trip in `#npu.target`."""
    having = [name for name in Machine.known() if "dsp" in Machine.load(name).features]
    assert having == ["cortex-m4", "cortex-m7"]
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
        (GOOD.replace('"mine"', '""'), "expected name to be a string, got ''"),
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
            "expected sram_bytes to be an i64, a string or a list",
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
