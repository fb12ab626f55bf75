"""What the command lines of the tools share."""

from __future__ import annotations

import argparse
from typing import NoReturn

from npu_tools.shared.errors import UserError


def usage_error(message: str) -> NoReturn:
    """What an argument parser calls for wrong options.

    Raises: UserError.
    """
    raise UserError(message)


def natural(text: str) -> int:
    """An integer of at least 0, for argparse.

    Raises: argparse.ArgumentTypeError for anything else.
    """
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected an integer of at least 0, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """An integer of at least 1, for argparse.

    Raises: argparse.ArgumentTypeError for anything else.
    """
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text!r}")
    return int(text)
