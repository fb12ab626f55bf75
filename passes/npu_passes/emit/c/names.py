"""Names and texts that are safe to print into C.

The names of layers, tensors and arguments come from a model file, which may contain anything. Such
a name must go through one of these functions before it is printed into C: `identifier` and `Scope`
for names in the code, `comment` for text in a comment, `literal` for a string literal.

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
"""Names from the headers that the C file includes, and macros that compilers define in GNU mode."""

RESERVED = C_KEYWORDS | CPP_KEYWORDS | LIBRARY_NAMES

OWN = "npu_mve_"
"""What the names of functions for vectors begin with: there is one for each form of an op."""
LONGEST_NAME = 63
"""Characters that C99 compilers must tell apart in an internal identifier."""
LONGEST_TEXT = 200
"""The most characters of a name that comments and string literals show."""


def identifier(text: str, otherwise: str = "value") -> str:
    """A C identifier that looks like `text`; `otherwise` if no character of it can be used.

    It has no leading and no double underscores, because such names are reserved for compilers. Nor
    does it look like one of the emitter's own functions.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text)[:LONGEST_NAME].strip("_")
    if not name:
        return otherwise
    return f"n{name}" if name[0].isdigit() or name.startswith(OWN) else name


def is_identifier(text: str) -> bool:
    """Whether the user's prefix can begin the names of functions and macros."""
    free = text not in RESERVED and not f"{text}_".startswith(OWN)
    return free and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) is not None


class Scope:
    """The names that are taken at a place in the C text: those of a block and of all around it.

    A name never shadows another one. Blocks that follow each other may use the same names.
    """

    def __init__(self, parent: Scope | None = None, taken: Iterable[str] = ()) -> None:
        self.parent = parent
        self.taken = set(taken)
        self.numbers: dict[str, int] = {}
        """For each wanted name the next number to try: with all smaller ones, it is taken."""

    def is_taken(self, name: str) -> bool:
        """Whether a name is taken in this scope or in one around it."""
        return name in self.taken or (self.parent is not None and self.parent.is_taken(name))

    def fresh(self, wanted: str) -> str:
        """Take and return the identifier `wanted`, with a number appended if it is taken."""
        name = wanted
        if self.is_taken(name):
            number = self.next_number(wanted)
            while self.is_taken(name := f"{wanted}_{number}"):
                number += 1
            self.numbers[wanted] = number + 1
        self.taken.add(name)
        return name

    def next_number(self, wanted: str) -> int:
        """The first number that may be free, from the nearest scope that has given a name one."""
        scope: Scope | None = self
        while scope is not None:
            if (number := scope.numbers.get(wanted)) is not None:
                return number
            scope = scope.parent
        return 2


def is_plain(character: str) -> bool:
    """Whether a character is printable ASCII, which every source character set has."""
    return " " <= character <= "~"


def comment(text: str) -> str:
    """Text that is safe inside of a comment: it cannot end it, begin another, or break its line."""
    shown = "".join(c if is_plain(c) else f"<U+{ord(c):04X}>" for c in text[:LONGEST_TEXT])
    shown = shown.replace("\\", "<U+005C>").replace("??", "? ?")
    while "*/" in shown or "/*" in shown:
        shown = shown.replace("*/", "* /").replace("/*", "/ *")
    return shown


def literal(text: str) -> str:
    """A string literal; bytes of UTF-8 are octal escapes, which end after three digits."""
    shown = text[:LONGEST_TEXT].encode("utf-8", "replace")
    return '"' + "".join(literal_byte(byte) for byte in shown) + '"'


def literal_byte(byte: int) -> str:
    """One byte of a string literal; question marks are escaped, as two of them begin a trigraph."""
    character = chr(byte)
    if character in '"\\?':
        return f"\\{character}"
    return character if is_plain(character) else f"\\{byte:03o}"
