"""`#npu.target`: the numbers of one machine, as a module attribute, read from a TOML file.

    module attributes {npu.target = #npu.target<"fe310", sram_bytes = 16384, ...>}

The TOML files in `targets/` are the only home of such numbers; each carries its source, or the word
assumption. A user copies one, changes it, and names the file instead of the machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

TARGET = "npu.target"
"""Module attribute: the machine that the module is compiled for."""


class MachineError(ValueError):
    """A machine that does not exist, or a file that does not describe one."""


@dataclass(frozen=True)
class Machine:
    """The numbers of one machine.

    Sizes are in bytes. `alignment` is what every buffer in the arena is aligned to at least;
    `registers` are the floating-point values that the core holds at once (zero: no FPU), which bounds
    register blocking; `features` names instruction-set extensions.
    """

    name: str
    sram_bytes: int
    flash_bytes: int
    alignment: int = 1
    registers: int = 16
    features: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Check the ranges."""
        for key, least in (
            ("sram_bytes", 1),
            ("flash_bytes", 0),
            ("alignment", 1),
            ("registers", 0),
        ):
            value: object = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise MachineError(f"machine: expected {key} of at least {least}, got {value!r}")
        if self.alignment & (self.alignment - 1):
            raise MachineError(f"machine: expected an alignment of 2^n, got {self.alignment}")

    @staticmethod
    def load(name_or_path: str) -> Machine:
        """A machine that ships with the package, or one from a user's `.toml` file.

        Raises: MachineError, with the names that exist, or with the key that is wrong.
        """
        if name_or_path.endswith(".toml"):
            try:
                text = Path(name_or_path).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise MachineError(f"{name_or_path}: cannot read the machine: {error}") from None
        elif name_or_path in (known := Machine.known()):
            text = (resources.files("npu_dialect.targets") / f"{name_or_path}.toml").read_text()
        else:
            raise MachineError(
                f"unknown target {name_or_path!r}: expected one of {', '.join(known)}, "
                "or the path of a .toml file"
            )
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise MachineError(f"{name_or_path}: not a TOML file: {error}") from None
        return Machine.from_table(table, name_or_path)

    @staticmethod
    def known() -> list[str]:
        """Names of the machines that ship with the package."""
        files = resources.files("npu_dialect.targets").iterdir()
        return sorted(
            file.name.removesuffix(".toml") for file in files if file.name.endswith("toml")
        )

    @staticmethod
    def from_table(table: dict[str, Any], where: str) -> Machine:
        """Build from the keys of a TOML file.

        Raises: MachineError for a key that is missing, unknown, or of another type.
        """
        known = {item.name for item in fields(Machine)}
        if unknown := sorted(table.keys() - known):
            raise MachineError(
                f"{where}: unknown key {unknown[0]!r}: expected {', '.join(sorted(known))}"
            )
        for key in ("name", "sram_bytes", "flash_bytes"):
            if key not in table:
                raise MachineError(f"{where}: missing key {key!r}")
        if not isinstance(table["name"], str):
            raise MachineError(f"{where}: expected name to be a string, got {table['name']!r}")
        features: object = table.get("features", [])
        if not isinstance(features, list) or not all(isinstance(f, str) for f in features):  # pyright: ignore[reportUnknownVariableType]
            raise MachineError(f"{where}: expected features to be a list of strings")
        try:
            return Machine(**{**table, "features": tuple(table.get("features", ()))})
        except MachineError as error:
            raise MachineError(f"{where}: {error}") from None


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """The machine a module is compiled for: `#npu.target<"fe310", {sram_bytes = 16384 : i64, ...}>`."""

    name = "npu.target"

    machine: StringAttr
    numbers: DictionaryAttr

    @staticmethod
    def of(machine: Machine) -> TargetAttr:
        """The attribute that holds a machine."""
        numbers: dict[str, Attribute] = {}
        for item in fields(Machine):
            value: object = getattr(machine, item.name)
            if isinstance(value, int):
                numbers[item.name] = IntegerAttr(value, i64)
            elif isinstance(value, tuple) and value:
                numbers[item.name] = ArrayAttr(
                    [StringAttr(feature) for feature in machine.features]
                )
        return TargetAttr(StringAttr(machine.name), DictionaryAttr(numbers))

    def to_machine(self) -> Machine:
        """The machine that this attribute holds.

        Raises: MachineError for a key that is missing, unknown, or of another type.
        """
        table: dict[str, Any] = {"name": self.machine.data}
        for key, value in self.numbers.data.items():
            if isinstance(value, IntegerAttr):
                table[key] = value.value.data
            elif isinstance(value, ArrayAttr):
                table[key] = [getattr(item, "data", item) for item in value.data]
            else:
                raise MachineError(f"#npu.target: expected {key} to be an integer or a list")
        return Machine.from_table(table, "#npu.target")

    def verify(self) -> None:
        """Check the keys and the ranges."""
        try:
            self.to_machine()
        except MachineError as error:
            raise VerifyException(str(error)) from None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"name", {key = value}>`."""
        with parser.in_angle_brackets():
            name = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            numbers = parser.parse_optional_dictionary_attr_dict()
        return (name, DictionaryAttr(numbers))

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_string_literal(self.machine.data)
            printer.print_string(", ")
            printer.print_attr_dict(self.numbers.data)


def machine_of(module: ModuleOp) -> Machine | None:
    """The machine of a module, if it has one."""
    target = module.attributes.get(TARGET)
    return target.to_machine() if isinstance(target, TargetAttr) else None
