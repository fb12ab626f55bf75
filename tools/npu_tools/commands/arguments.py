"""Argument checks that the command-line tools share."""

from __future__ import annotations

import argparse
from math import inf, nan
from typing import NoReturn

from npu_tools.shared.errors import UserError


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
