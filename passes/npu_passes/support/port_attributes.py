"""The attributes of all arguments or results of a function, as dictionaries to be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute


def attributes_of(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> list[dict[str, Attribute]]:
    """The attributes of `count` arguments or results, as dictionaries that may be empty."""
    return [dict(each.data) for each in attributes] if attributes else [{} for _ in range(count)]


def array_of(attributes: Sequence[Mapping[str, Attribute]]) -> ArrayAttr[DictionaryAttr] | None:
    """Attributes of arguments or results for a function; None if all are empty."""
    if not any(attributes):
        return None
    return ArrayAttr([DictionaryAttr(dict(each)) for each in attributes])
