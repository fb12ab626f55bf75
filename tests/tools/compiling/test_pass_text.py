"""Pipelines as text: both notations, blanks, named pipelines."""

import pytest

from npu_passes.pipelines import PIPELINES
from npu_tools.compiling.pass_text import parse_passes, plain_text
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import available_passes


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a,b", "a,b"),
        ("builtin.module(a, b{x=1})", "a,b{x=1}"),
        (" builtin.module ( a ,\n b { x=1  y=2 } ) ", "a,b{x=1  y=2}"),
        ("builtin.module()", ""),
        ('a{p="x, (y)"}', 'a{p="x, (y)"}'),
        ("mlir-opt[func.func(cse, b)],a", "mlir-opt[func.func(cse, b)],a"),
        ("a{t = 1, 2}", "a{t=1,2}"),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_both_spellings_mean_the_same() -> None:
    available = available_passes()
    text = "cse,npu-assign-sram-offsets{strategy=none}"
    assert parse_passes(available, text) == parse_passes(available, f"builtin.module({text})")


@pytest.mark.parametrize("name", PIPELINES)
def test_a_name_means_its_passes(name: str) -> None:
    available = available_passes()
    by_name = parse_passes(available, f"canonicalize, {name}")
    assert by_name == parse_passes(available, f"canonicalize,{PIPELINES[name].text}")
    assert name not in available


@pytest.mark.parametrize("text", ["default{x=1}", "no-such-pass", "cse{x=1}", "cse cse", "a{"])
def test_what_is_rejected(text: str) -> None:
    with pytest.raises(UserError):
        parse_passes(available_passes(), text)


def test_an_anchor_that_is_not_closed() -> None:
    with pytest.raises(UserError, match=r"expected `\)` at the end of 'builtin.module\(a,b'"):
        plain_text("builtin.module(a, b")
