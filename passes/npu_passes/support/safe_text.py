"""Parse untrusted IR text with xDSL in bounded time and memory.

    SafeParser(context, text, "model.mlir").parse_module()

accepts the text that `xdsl.parser.Parser` accepts, and returns the same IR. Where xDSL's parser
needs exponential or quadratic time, or much more memory than the text is long, this one raises a
ParseError. All limits are constants of this file, far above what networks need.

It also takes locations that are defined behind their use, as MLIR prints them:

    return %0 : tensor<4xf32> loc(#loc2)
    ...
    #loc2 = loc("model.py":3:4)

`mend_lexer` is for text that xDSL's own parser reads, such as attributes in pass options.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    RankedStructure,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, TypeAttribute
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

LONGEST_NUMBER = 4300
"""Most characters of a number: Python converts no decimal number with more digits."""
LONGEST_SHAPE = 4096
"""Most characters of a shape, `1x3x224x224xf32`: xDSL rescans the rest at each `x`."""
LONGEST_AFFINE = 2**16
"""Most characters of an affine map: xDSL looks up its identifiers in a list and multiplies its
constants."""
WIDEST_INTEGER = 2**24 - 1
"""Most bits of an integer type, as in MLIR: xDSL computes 2 to this power."""
LARGEST_SPLAT = 2**25
"""Most bytes of a splat, a constant whose text has one value (`dense<0.5>`): xDSL stores all
elements, and makes Python objects of them when it prints the IR around an error."""
MOST_OPERANDS = 2**14
"""Most operands of one operation: a million take xDSL fifteen seconds."""
MOST_BLOCKS = 2**10
"""Most blocks of one region: xDSL's verifier counts all of them at each terminator."""
FREE_EXPANSION = 2**17
"""Total characters to which the aliases of a text may expand, however short the text is."""
EXPANSION = 16
"""Characters to which aliases may expand, for each character of the text.

`#b = [#a, #a]`, `#c = [#b, #b]` and so on: thirty such lines print as a gigabyte.
"""
TOO_DEEP = "nested too deep: expected at most about a hundred brackets or regions around each other"


class Expression(NamedTuple):
    """A regular expression of xDSL's lexer, and ours: the same matches without backtracking."""

    upstream: str
    ours: str
    flags: int = 0


# Before 3.11.5 Python may mishandle a possessive group that fails inside; it only saves memory.
_GROUPS = "*+" if sys.version_info >= (3, 11, 5) else "*"

EXPRESSIONS = {
    # `([^"]+|...)*`: each of n letters may end a repetition, so without a closing quote there are
    # 2 to the power of n ways to fail, and Python tries all of them.
    "_unescaped_characters_regex": Expression(
        r'"(?:[^"\\\n\v\f]+|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"',
        rf'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{{2}})){_GROUPS}"',
    ),
    # This one cannot fail, but Python keeps 600 bytes for each comment line.
    "_whitespace_regex": Expression(
        r"((//[^\n]*(\n)?)|(\s+))*", rf"(?://[^\n]*+|\s++){_GROUPS}", re.ASCII
    ),
}
"""Attributes of xDSL's lexer (0.70 to 0.74), and our replacements."""


def mend_lexer() -> None:
    """Replace the backtracking expressions of xDSL's lexer, if this version has the known ones."""
    for name, (upstream, ours, flags) in EXPRESSIONS.items():
        found = getattr(MLIRLexer, name, None)
        if found is not None and found.pattern == upstream:
            setattr(MLIRLexer, name, re.compile(ours, flags))


class SafeLexer(MLIRLexer):
    """xDSL's lexer with a limit on the length of numbers, and an optional end of the text."""

    end: int | None = None
    """The position by which identifiers and numbers must end; None: no limit."""

    def _lex_number(self, start_pos: int) -> MLIRToken:
        """Lex a number within the limits."""
        token = super()._lex_number(start_pos)
        if len(token.span) > LONGEST_NUMBER:
            self.reject(
                start_pos,
                f"a number of {len(token.span)} digits: expected at most {LONGEST_NUMBER}",
            )
        self.check_end(start_pos)
        return token

    def _lex_bare_identifier(self, start_pos: int) -> MLIRToken:
        """Lex an identifier within the limits."""
        token = super()._lex_bare_identifier(start_pos)
        self.check_end(start_pos)
        return token

    def check_end(self, start: int) -> None:
        """Check that the token that began at `start` ends before `end`."""
        if self.end is not None and self.pos > self.end:
            self.reject(start, f"expected an affine map of at most {LONGEST_AFFINE} characters")

    def reject(self, start: int, message: str) -> None:
        """Raise a ParseError at a token."""
        raise ParseError(Span(start, start + 1, self.input), message)


class Aliases(dict[str, Attribute]):
    """The attribute aliases of a text; counts the characters to which their uses expand."""

    def __init__(self, parser: SafeParser) -> None:
        super().__init__()
        self.parser = parser
        self.sizes: dict[str, int] = {}
        self.written = 0
        self.most = max(FREE_EXPANSION, EXPANSION * len(parser.lexer.input))

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of an alias; adds its size to the count.

        Raises: ParseError if all uses together expand to too many characters.
        """
        self.written += self.sizes[name]
        if self.written > self.most:
            self.parser.raise_error(
                f"aliases stand for more than {self.most} characters: "
                f"expected at most {EXPANSION} times the text"
            )
        return super().__getitem__(name)


def bits_of(type: TypeAttribute | None) -> int:
    """The width of an integer type in bits; 0 for other types."""
    return cast("IntegerType[Any, Any]", type).width.data if isinstance(type, IntegerType) else 0


class SafeParser(Parser):
    """xDSL's parser with the limits of this file."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>") -> None:
        mend_lexer()
        super().__init__(ctx, "", name)
        self.safe_lexer = SafeLexer(Input(text, name))
        self._parser_state = ParserState(self.safe_lexer)
        self.aliases = self.attribute_aliases = Aliases(self)
        self.operand_count = 0
        self.literal_shape: list[int] | None = None
        self.splat: RankedStructure[Any] | None = None
        self.locations: dict[str, Span] = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text.

        Raises: ParseError if the text is wrong, exceeds a limit, or is nested too deep for Python's
        stack.
        """
        try:
            module = super().parse_module(allow_implicit_module)
        except RecursionError:
            raise ParseError(self._current_token.span, TOO_DEEP) from None
        for name, place in self.locations.items():
            if name not in self.aliases:
                raise ParseError(place, f"undefined symbol alias '{name}'")
        return module

    def _parse_alias_def(self) -> None:
        """Parse the definition of an alias, and note to how many characters it expands."""
        start, before = self.pos, self.aliases.written
        super()._parse_alias_def()
        size = self.pos - start + self.aliases.written - before
        self.aliases.sizes[next(reversed(self.aliases))] = size

    def _parse_location(self) -> LocationAttr:
        """Parse what is in a location; one that is not defined yet is unknown."""
        token = self._current_token
        if token.kind != MLIRTokenKind.HASH_IDENT or token.text in self.aliases:
            return super()._parse_location()
        self.locations.setdefault(token.text, token.span)
        self._consume_token(MLIRTokenKind.HASH_IDENT)
        return UnknownLoc()

    def parse_operation(self) -> Operation:
        """Parse an operation; its operands are counted from zero."""
        self.operand_count = 0
        return super().parse_operation()

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        """Parse an operand, if there is one; reject too many of them."""
        self.operand_count += 1
        if self.operand_count > MOST_OPERANDS:
            self.raise_error(f"expected an operation with at most {MOST_OPERANDS} operands")
        return super().parse_optional_unresolved_operand()

    def _parse_block(self) -> Block:
        """Parse a block; reject too many of them."""
        if len(self.blocks) > MOST_BLOCKS:
            self.raise_error(f"expected a region with at most {MOST_BLOCKS} blocks")
        return super()._parse_block()

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type, if there is one; reject integers that are too wide."""
        found = super().parse_optional_type()
        if bits_of(found) > WIDEST_INTEGER:
            self.raise_error(f"expected an integer type of at most {WIDEST_INTEGER} bits")
        return found

    def _parse_optional_shape_delimiter(self) -> str | None:
        """Parse the `x` of a shape; reject it if too many characters follow."""
        if len(self._current_token.span) > LONGEST_SHAPE:
            self.raise_error(f"expected a shape of at most {LONGEST_SHAPE} characters")
        return super()._parse_optional_shape_delimiter()

    @contextmanager
    def short_affine(self) -> Generator[None]:
        """Inside, identifiers and numbers must end within the next `LONGEST_AFFINE` characters."""
        self.safe_lexer.end = self.pos + LONGEST_AFFINE
        yield
        self.safe_lexer.end = None

    def parse_affine_map(self) -> AffineMap:
        """Parse an affine map within the limit."""
        with self.short_affine():
            return super().parse_affine_map()

    def parse_affine_set(self) -> AffineSet:
        """Parse an affine set within the limit."""
        with self.short_affine():
            return super().parse_affine_set()

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr[Any]:
        """Parse a constant; a splat is expanded as bytes, not as Python objects."""
        around = self.literal_shape, self.splat
        self.literal_shape, self.splat = None, None
        if type is not None:
            self.check_size(type, len(self.lexer.input) - self.pos)
        found = cast(
            "DenseIntOrFPElementsAttr[Any]", super().parse_dense_int_or_fp_elements_attr(type)
        )
        if self.splat is not None:
            data = found.data.data * prod(self.splat.get_shape())
            found = DenseIntOrFPElementsAttr[Any](self.splat, BytesAttr(data))
        self.literal_shape, self.splat = around
        return found

    def _parse_tensor_literal(self) -> Any:
        """Parse a list of elements or a single element, and note its shape."""
        found = super()._parse_tensor_literal()
        self.literal_shape = found[1]
        return found

    def _parse_dense_literal_type(self) -> RankedStructure[Any]:
        """Parse the type of a constant.

        For a splat, note the type and return that of a single element: the caller expands it.
        """
        literal_shape, characters = self.literal_shape, self.pos
        found = cast("RankedStructure[Any]", super()._parse_dense_literal_type())
        self.check_size(found, characters)
        if literal_shape == []:
            self.splat = found
            return TensorType[Any](found.get_element_type(), [1])
        return found

    def check_size(self, type: RankedStructure[Any], characters: int) -> None:
        """Check that a constant takes at most `LARGEST_SPLAT` bytes or `characters` bytes."""
        size = prod(type.get_shape()) * type.element_type.compile_time_size
        if size > max(LARGEST_SPLAT, characters):
            self.raise_error(
                f"expected a constant of at most {LARGEST_SPLAT} bytes, or all of its elements"
            )
