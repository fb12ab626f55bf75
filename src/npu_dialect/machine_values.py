"""The values in a machine's TOML file, or in `#npu.target`: their types and ranges. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, cast

Table: TypeAlias = Mapping[str, object]

TIMED_TYPES = ("f32", "i8")
"""The element types that a table of rates may have a number for."""

MOST_MULTIPLE = 2**16
"""The largest `row_multiple` and `column_multiple`: maps are stored up to such a multiple."""

MOST = 2**63 - 1
"""The largest integer that `#npu.target` can hold, as its integers are i64."""

DIGITS = 15
"""The most digits of a number that may be a fraction: with more, an f64 is not exact."""


class MachineError(ValueError):
    """A machine is unknown, or a file does not describe a machine."""


def integer(key: str, value: object, least: int) -> int:
    """An integer of at least `least`. Raises: MachineError if the value is another thing."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
        raise MachineError(
            f"expected {key} to be an integer of at least {least}, got {shown(value)}"
        )
    if key.endswith("_multiple") and value > MOST_MULTIPLE:
        raise MachineError(f"expected {key} to be at most {MOST_MULTIPLE}, got {value}")
    return value


def boolean(key: str, value: object) -> bool:
    """True or false. Raises: MachineError if the value is another thing."""
    if not isinstance(value, bool):
        raise MachineError(f"expected {key} to be true or false, got {shown(value)}")
    return value


def string(key: str, value: object) -> str:
    """A string of printable characters. Raises: MachineError if the value is another thing."""
    if not isinstance(value, str):
        raise MachineError(f"expected {key} to be a string, got {shown(value)}")
    if not value:
        raise MachineError(f"expected {key} not to be empty")
    if not value.isprintable():
        raise MachineError(f"expected {key} without control characters, got {value!r}")
    return value


def strings(key: str, value: object) -> list[str]:
    """A list of strings. Raises: MachineError if the value is another thing."""
    if not isinstance(value, list):
        raise MachineError(f"expected {key} to be a list of strings, got {shown(value)}")
    return [string(f"each of {key}", item) for item in cast("list[object]", value)]


def rates(key: str, value: object) -> tuple[tuple[str, Fraction], ...]:
    """The numbers of a table of element types, in the order of TIMED_TYPES.

    Raises: MachineError if the value is another thing, or a number is 0.
    """
    if not isinstance(value, dict):
        raise MachineError(f"expected {key} to be a table of element types, got {shown(value)}")
    table = cast(Table, value)
    for name in table:
        if name not in TIMED_TYPES:
            raise MachineError(f"expected {key} for {' or '.join(TIMED_TYPES)}, got {name!r}")
    found = {name: rate(f"{key} of {name}", table[name]) for name in TIMED_TYPES if name in table}
    for name, number in found.items():
        if number == 0:
            raise MachineError(f"expected {key} of {name} to be above 0, got 0")
    return tuple(found.items())


def rate(key: str, value: object) -> Fraction:
    """A number that may be a fraction, exactly. An f64 holds any number of at most 15 digits.

    Raises: MachineError if the value is another thing.
    """
    exact = Fraction(-1)
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        exact = Fraction(value)
    elif isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < DIGITS:
        exact = Fraction(value)
    if not 0 <= exact < 10**DIGITS or Fraction(repr(float(exact))) != exact:
        raise MachineError(
            f"expected {key} to be a number of at least 0 and of at most {DIGITS} digits, "
            f"got {shown(value)}"
        )
    return exact


def shown(value: object) -> str:
    """A value of a TOML file, for messages."""
    if isinstance(value, int) and abs(value) > MOST:
        return hex(value)
    return str(value) if isinstance(value, Decimal) else repr(value)
