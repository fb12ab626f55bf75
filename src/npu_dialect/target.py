"""`#npu.target`: the numbers of one machine, as a module attribute.

    builtin.module attributes {npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, ...}>} {

`machine.py` reads the numbers from a TOML file.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import TARGET
from npu_dialect.kinds import FLAGS
from npu_dialect.machine import TABLES, Machine
from npu_dialect.machine_values import MachineError
from npu_dialect.memories import Memory


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """The machine a module is compiled for.

    ```mlir
    #npu.target<"fe310", {flash_bytes = 16777216 : i64, sram_bytes = 16384 : i64}>
    ```
    """

    name = "npu.target"

    machine: StringAttr
    numbers: DictionaryAttr

    @staticmethod
    def of(machine: Machine) -> TargetAttr:
        """The attribute that holds a machine."""
        numbers: dict[str, Attribute] = {}
        always = ("sram_bytes", "flash_bytes", "alignment", "registers")
        for item in fields(Machine):
            value: object = getattr(machine, item.name)
            if item.name == "name" or (item.name not in always and value == item.default):
                continue
            if item.name == "memory":
                numbers[item.name] = ArrayAttr([_table_of(each) for each in machine.memory])
            elif isinstance(value, int):
                numbers[item.name] = IntegerAttr(value, i64)
            elif isinstance(value, str):
                numbers[item.name] = StringAttr(value)
            elif isinstance(value, Fraction):
                numbers[item.name] = _attribute_of(value)
            elif item.name in TABLES:
                rates: tuple[tuple[str, Fraction], ...] = getattr(machine, item.name)
                numbers[item.name] = DictionaryAttr(
                    {key: _attribute_of(rate) for key, rate in rates}
                )
            elif isinstance(value, tuple) and value:
                numbers[item.name] = ArrayAttr(
                    [StringAttr(feature) for feature in machine.features]
                )
        return TargetAttr(StringAttr(machine.name), DictionaryAttr(numbers))

    def to_machine(self) -> Machine:
        """The machine that this attribute holds.

        Raises: MachineError if a key is missing, unknown, or of another type.
        """
        table: dict[str, object] = {}
        for key, value in self.numbers.data.items():
            match value:
                case IntegerAttr() | FloatAttr():
                    table[key] = _number_of(key, value)
                case StringAttr():
                    table[key] = value.data
                case ArrayAttr():
                    table[key] = [_item_of(key, item) for item in value]
                case DictionaryAttr():
                    table[key] = {name: _number_of(key, item) for name, item in value.data.items()}
                case _:
                    raise MachineError(
                        f"#npu.target: expected {key} to be a number, a string, a list or a table"
                    )
        if "name" in table:
            raise MachineError("#npu.target: the name stands before the numbers")
        table["name"] = self.machine.data
        return Machine.from_table(table, "#npu.target")

    def verify(self) -> None:
        """Check the keys of the numbers and their ranges."""
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


def _item_of(key: str, item: Attribute) -> object:
    """A string of a list, or the table of a memory."""
    if key == "memory" and isinstance(item, DictionaryAttr):
        return {name: _value_of(name, each) for name, each in item.data.items()}
    if not isinstance(item, StringAttr):
        kind = "tables" if key == "memory" else "strings"
        raise MachineError(f"#npu.target: expected {key} to be a list of {kind}")
    return item.data


def _value_of(key: str, item: Attribute) -> object:
    """A string, a flag or a number in the table of a memory."""
    if isinstance(item, StringAttr):
        return item.data
    if item in FLAGS:
        return item == FLAGS[1]
    return _number_of(key, item)


def _table_of(memory: Memory) -> DictionaryAttr:
    """The table of a memory."""
    found: dict[str, Attribute] = {}
    for key, value in memory.table().items():
        match value:
            case bool():
                found[key] = IntegerAttr.from_bool(value)
            case Fraction():
                found[key] = _attribute_of(value)
            case int():
                found[key] = IntegerAttr(value, i64)
            case _:
                found[key] = StringAttr(str(value))
    return DictionaryAttr(found)


def _attribute_of(rate: Fraction) -> Attribute:
    """An i64 for an integer, else the f64 whose shortest decimal is the number."""
    return FloatAttr(float(rate), f64) if rate.denominator > 1 else IntegerAttr(rate.numerator, i64)


def _number_of(key: str, item: Attribute) -> int | Decimal:
    match item:
        case IntegerAttr(type=t) if t == i64:
            return item.value.data
        case FloatAttr(type=t) if t == f64:
            return Decimal(repr(item.value.data))
        case _:
            raise MachineError(f"#npu.target: expected each number of {key} to be an i64 or an f64")


Look: TypeAlias = Callable[[Machine], Machine]

_LOOK: ContextVar[Look | None] = ContextVar("npu-machine-seen-by", default=None)


@contextmanager
def seen_by(look: Look) -> Generator[None]:
    """Let `machine_of` return what `look` makes of a machine, in this thread.

    `look` may return an object of a subclass that notes which numbers are read.
    """
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def machine_of(module: ModuleOp) -> Machine | None:
    """The machine of a module; None if it has no `npu.target`.

    Raises: VerifyException if `npu.target` is no `#npu.target<...>`. If it were ignored, nothing
        would be checked against the machine.
    """
    target = TARGET.raw(module)
    if target is None:
        return None
    if not isinstance(target, TargetAttr):
        raise VerifyException(f"expected {TARGET.name} to be an #npu.target<...>, got {target}")
    machine, look = target.to_machine(), _LOOK.get()
    return machine if look is None else look(machine)
