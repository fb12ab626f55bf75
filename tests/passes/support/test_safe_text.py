"""SafeParser takes the text that xDSL's parser takes, and gives the same IR."""

import random
import re
import subprocess
import sys
import time
import tracemalloc

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRLexer

from npu_passes.support.safe_text import EXPRESSIONS, SafeParser, mend_lexer

STRING, BLANKS = "_unescaped_characters_regex", "_whitespace_regex"


def seconds(expression: str, text: str) -> float:
    """The time of one match, in seconds."""
    pattern = re.compile(expression)
    start = time.process_time()
    pattern.match(text)
    return time.process_time() - start


def peak(expression: str, text: str) -> int:
    """The peak memory of one match, in bytes."""
    pattern = re.compile(expression)
    tracemalloc.start()
    try:
        pattern.match(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def patterns() -> list[str]:
    """The expressions of the xDSL that is installed, then those of a tool that has started."""
    shown = f"print(L.{STRING}.pattern); print(L.{BLANKS}.pattern)"
    code = (
        f"from xdsl.utils.mlir_lexer import MLIRLexer as L; {shown}; "
        f"from npu_tools.shared.errors import guarded; guarded('tool', lambda: 0); {shown}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def installed(patterns: list[str]) -> dict[str, str]:
    """The expressions of the xDSL that is installed."""
    return {STRING: patterns[0], BLANKS: patterns[1]}


def test_every_tool_mends_the_lexer(patterns: list[str]) -> None:
    assert patterns[2:] == [EXPRESSIONS[STRING].ours, EXPRESSIONS[BLANKS].ours]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_expressions_that_we_replace_are_those_of_xdsl(
    name: str, installed: dict[str, str]
) -> None:
    assert installed[name] == EXPRESSIONS[name].upstream, (
        f"xDSL has another {name}: if it backtracks, put it into EXPRESSIONS, else take it out"
    )


def test_xdsl_still_needs_another_expression_for_strings(installed: dict[str, str]) -> None:
    short, long = (min(seconds(installed[STRING], '"' + "a" * n) for _ in "123") for n in (12, 18))
    assert long > 8 * short, f"{STRING} does not backtrack any more: take it out of EXPRESSIONS"
    assert seconds(EXPRESSIONS[STRING].ours, '"' + "a" * 10**6) < 1


def test_xdsl_still_needs_another_expression_for_comments(installed: dict[str, str]) -> None:
    text = "//\n" * 10**4
    assert peak(installed[BLANKS], text) > 10 * len(text), f"take {BLANKS} out of EXPRESSIONS"
    assert peak(EXPRESSIONS[BLANKS].ours, text) < len(text)


def test_the_lexer_is_mended_once() -> None:
    mend_lexer()
    before = vars(MLIRLexer)[STRING], vars(MLIRLexer)[BLANKS]
    mend_lexer()
    assert (vars(MLIRLexer)[STRING], vars(MLIRLexer)[BLANKS]) == before
    assert before[0].pattern == EXPRESSIONS[STRING].ours


@pytest.mark.parametrize(("name", "alphabet"), [(STRING, '"\\an0x\n\f'), (BLANKS, "/ \n\ta\f\v")])
def test_both_expressions_take_the_same(name: str, alphabet: str) -> None:
    upstream, ours, flags = EXPRESSIONS[name]
    theirs, mine = re.compile(upstream, flags), re.compile(ours, flags)
    generator = random.Random(0)
    start = '"' if name == STRING else ""
    for _ in range(5000):
        text = start + "".join(generator.choices(alphabet, k=generator.randrange(12)))
        one, two = theirs.match(text), mine.match(text)
        assert (one and one.end()) == (two and two.end()), text


def parser(kind: type[Parser], text: str) -> Parser:
    """A parser that knows two dialects."""
    context = Context()
    for dialect in (Builtin, Arith):
        context.load_dialect(dialect)
    return kind(context, text, "x.mlir")


ATTRIBUTES = [
    "dense<1.5> : tensor<2x3xf32>",
    "dense<-1> : vector<4xi8>",
    "dense<255> : tensor<4xui8>",
    "dense<true> : tensor<2x2xi1>",
    "dense<7> : memref<2xindex>",
    "dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>",
    "dense<3> : tensor<i32>",
    "dense<3> : tensor<0xi32>",
    "dense<> : tensor<0xi32>",
    "dense<[[1, 2], [3, 4]]> : tensor<2x2xi16>",
    'dense<"0x01"> : tensor<5xi8>',
    'dense<"0x0102"> : tensor<2xi8>',
    "tensor<2xf32, dense<1> : tensor<2xi8>>",
    "[dense<1> : tensor<2xi8, dense<2> : tensor<3xi8>>, dense<3> : tensor<1xi8>]",
    "affine_map<(d0, d1)[s0] -> (d0 * 2 + s0, d1 floordiv 3)>",
    "affine_set<(d0) : (d0 - 3 >= 0)>",
    "memref<1x3x?xf32, strided<[?, 4, 1], offset: ?>>",
    "vector<2x[4]xf32>",
    "16777215 : i16777215",
    '"two\\nlines, \\"quotes\\" and \\41"',
    "@a::@b",
]


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes_are_what_they_are_to_xdsl(text: str) -> None:
    assert parser(SafeParser, text).parse_attribute() == parser(Parser, text).parse_attribute()


WRONG = [
    "dense<300> : tensor<2xi8>",
    "dense<[1]> : tensor<2xi8>",
    "dense<[1, [2]]> : tensor<2xi8>",
    "dense<1.5> : tensor<2xi8>",
    'dense<"0x010203"> : tensor<2xi8>',
    'dense<"zz"> : tensor<2xi8>',
    "dense<1> : tensor<?xi8>",
    "dense<1> : i8",
    "tensor<2x>",
    "#nobody",
]


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_what_they_are_to_xdsl(text: str) -> None:
    said: list[str] = []
    for kind in (Parser, SafeParser):
        with pytest.raises(Exception) as error:  # noqa: PT011 - both kinds have to raise the same
            parser(kind, text).parse_attribute()
        said.append(f"{error.type} {error.value}")
    assert said[0] == said[1]


def test_aliases() -> None:
    text = "!t = tensor<2xf32>\n#a = [!t, !t]\n" + "".join(
        f"builtin.module attributes {{a = #a, n = {n}}} {{}}\n" for n in range(200)
    )
    one, two = (parser(kind, text).parse_module() for kind in (SafeParser, Parser))
    assert str(one) == str(two)


def test_aliases_may_stand_for_more_in_a_longer_text() -> None:
    lines = ["#a0 = [1]", *(f"#a{n} = [#a{n - 1}, #a{n - 1}]" for n in range(1, 13))]
    text = "\n".join([*lines, "builtin.module attributes {a = #a12} {}"])
    with pytest.raises(ParseError, match="aliases stand for"):
        parser(SafeParser, text).parse_module()
    parser(SafeParser, "//" + "/" * 10**5 + "\n" + text).parse_module()


LOCATIONS = """\
func.func @f(%x: i32 loc("x"(#later))) -> i32 {
  %y = arith.addi %x, %x : i32 loc(#later)
  func.return %y : i32 loc(callsite(#later at #early))
} loc(unknown)
#later = loc("f.py":3:4)
"""
WITHOUT = """\
func.func @f(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
"""


def test_locations_may_be_defined_behind_their_use() -> None:
    ctx = Context()
    for dialect in (Arith, Builtin, Func):
        ctx.load_dialect(dialect)
    module = SafeParser(ctx, '#early = loc("f.py":1:2)\n' + LOCATIONS).parse_module()
    assert str(module) == str(SafeParser(ctx, WITHOUT).parse_module())
    with pytest.raises(ParseError, match="undefined symbol alias '#early'"):
        SafeParser(ctx, LOCATIONS).parse_module()
