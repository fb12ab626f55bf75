"""Parsing of one word out of a few, such as `mode fixed`, whose attribute is an enum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.parser import AttrParser
from xdsl.utils.str_enum import StrEnum

WordT = TypeVar("WordT", bound=StrEnum)


def parse_word(parser: AttrParser, words: Iterable[WordT], what: str) -> WordT:
    """Parse one of some words of an enum; `what` says in the error what was expected.

    Raises: ParseError that lists the words.
    """
    start, known = parser.pos, tuple(words)
    wanted = f"{what} {' or '.join(known)}"
    word = parser.parse_identifier(f": {wanted}")
    for each in known:
        if each.value == word:
            return each
    parser.raise_error(f"expected {wanted}, got {word}", start, start + len(word))
