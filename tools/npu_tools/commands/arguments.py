"""Argument checks that the command-line tools share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import inf, nan
from typing import NoReturn

from npu_dialect.machine_values import MOST
from npu_tools.shared.errors import UserError


class ShowVersion(argparse.Action):
    """Prints the name of the program and the version of the package, and ends the program.

    The version is read only then: this takes as long as parsing a small model.
    """

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(
            option_strings,
            dest=argparse.SUPPRESS,
            nargs=0,
            help="show program's version number and exit",
        )

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> NoReturn:
        """Print the version. Raises: SystemExit."""
        from importlib.metadata import version

        print(f"{parser.prog} {version('npu-dialect')}")
        parser.exit()


def usage_error(message: str) -> NoReturn:
    """Report a wrong option; argument parsers call this instead of `ArgumentParser.error`.

    Raises: UserError with the parser's message, always.
    """
    raise UserError(message)


def natural(text: str) -> int:
    """Parse an option's value as an integer of at least 0; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected an integer of at least 0, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Parse an option's value as an integer of at least 1; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text!r}")
    return int(text)


def size(text: str) -> int:
    """Parse an option's value as a number of bytes, from 1 to `MOST`; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    if (number := positive(text)) > MOST:
        raise argparse.ArgumentTypeError(f"expected at most {MOST}, got {text!r}")
    return number


def percent(text: str) -> float:
    """Parse an option's value as a finite number of at least 0; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not 0 <= number < inf:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return number
