"""Names and texts that are safe to print into C.

Layers, tensors and arguments are named by people, in a file that we did not write. Nothing of
such a name may reach the C text unless it went through one of the functions here: `identifier`
and `Scope` for names in the code, `comment` for text in a comment, `literal` for a string
literal.

    "conv/1"  ->  conv_1        "for"  ->  for_2        "*/ evil();"  ->  (comment) "* / evil();"
"""

from __future__ import annotations

import re
from collections.abc import Iterable

C_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while".split()
)
"""Keywords of C99 (those that begin with an underscore cannot come out of `identifier`)."""

CPP_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand bitor bool "
    "catch char8_t char16_t char32_t class compl concept const_cast consteval constexpr constinit "
    "co_await co_return co_yield decltype delete dynamic_cast explicit export false final friend "
    "import module mutable namespace new noexcept not not_eq nullptr operator or or_eq override "
    "private protected public reflexpr reinterpret_cast requires static_assert static_cast "
    "synchronized template this thread_local throw true try typeid typename typeof using virtual "
    "wchar_t xor xor_eq".split()
)
"""Keywords and alternative operators of C++ up to C++20, and typeof (GNU C, C23)."""

LIBRARY_NAMES = frozenset(
    "main memcpy memmove memset size_t ptrdiff_t uintptr_t intptr_t int8_t int16_t int32_t int64_t "
    "uint8_t uint16_t uint32_t uint64_t std NULL INFINITY NAN errno assert signbit isnan isinf "
    "isfinite fpclassify linux unix arm i386 offsetof near far".split()
)
"""Types, functions and macros of the headers that the C includes, and macros of compilers in GNU
mode."""

RESERVED = C_KEYWORDS | CPP_KEYWORDS | LIBRARY_NAMES

LONGEST_NAME = 63
"""Characters that C99 compilers must tell apart in an internal identifier."""
LONGEST_TEXT = 200
"""Characters of a name of the model that comments and string literals show."""


def identifier(text: str, otherwise: str = "value") -> str:
    """A C identifier that looks like `text`; `otherwise` if nothing of it can be used.

    No underscore at the front and none doubled: such names belong to compilers.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text)[:LONGEST_NAME].strip("_")
    if not name:
        return otherwise
    return f"n{name}" if name[0].isdigit() else name


def is_identifier(text: str) -> bool:
    """Whether a person's own choice of a prefix can begin the names of functions and macros."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) is not None and text not in RESERVED


class Scope:
    """The names that are taken at a place in the C text: those of this block and of all around
    it.

    A name is never shadowed, blocks that follow each other may use the same names.
    """

    def __init__(self, parent: Scope | None = None, taken: Iterable[str] = ()) -> None:
        self.parent = parent
        self.taken = set(taken)

    def is_taken(self, name: str) -> bool:
        """Whether the name means something here."""
        return name in self.taken or (self.parent is not None and self.parent.is_taken(name))

    def fresh(self, wanted: str) -> str:
        """Take the identifier `wanted`, with a number behind it if it is not free."""
        name, number = wanted, 2
        while self.is_taken(name):
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        return name


def is_plain(character: str) -> bool:
    """Printable ASCII: the same in every source character set."""
    return " " <= character <= "~"


def comment(text: str) -> str:
    """Text for the inside of a comment: it cannot end the comment, begin another one, or
    break its line."""
    shown = "".join(c if is_plain(c) else f"<U+{ord(c):04X}>" for c in text[:LONGEST_TEXT])
    shown = shown.replace("\\", "<U+005C>").replace("??", "? ?")
    while "*/" in shown or "/*" in shown:
        shown = shown.replace("*/", "* /").replace("/*", "/ *")
    return shown


def literal(text: str) -> str:
    """A string literal: UTF-8 in octal escapes, which never swallow the characters behind
    them."""
    shown = text[:LONGEST_TEXT].encode("utf-8", "replace")
    return '"' + "".join(literal_byte(byte) for byte in shown) + '"'


def literal_byte(byte: int) -> str:
    """One byte of a string literal; the question mark too, as two of them begin a trigraph."""
    character = chr(byte)
    if character in '"\\?':
        return f"\\{character}"
    return character if is_plain(character) else f"\\{byte:03o}"
