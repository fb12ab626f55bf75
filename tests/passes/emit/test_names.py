"""Names come from untrusted files: no name can put anything else into the C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import PassFailedException

from helpers.c_harness import LANGUAGES, build, run_c, visible_symbols, write_files
from helpers.parsing import emit_text
from npu_passes.emit.c.names import RESERVED, Scope, comment, identifier, is_identifier, literal

HOSTILE = (
    "*/ int evil(void) { return 1; } /*",
    "a\\",
    "line\nbreak */ #error injected",
    "??/",
    "// \\\n#error injected",
    '"); evil(); ("',
    "for",
    "class",
    "memcpy",
    "main",
    "9 lives",
    "größe 中文 🙂",
    "",
    "lenet5_run",
    "NULL",
    "INFINITY",
    "__LINE__",
    "arena",
    "bytes",
    "npu_mve_add_i32x4",
    "x" * 5000,
    "a*",
    "/",
)


def quoted(text: str) -> str:
    """A string of MLIR."""
    escape = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}
    return '"' + "".join(escape.get(character, character) for character in text) + '"'


def module_of(names: tuple[str, ...]) -> str:
    """A module whose arguments, layers, functions and constants have these names."""
    kind = "memref<1xf32, #npu.sram>"
    parts: list[str] = []
    calls: list[str] = []
    arguments: list[str] = []
    for index, name in enumerate(names):
        parts.append(
            f'"memref.global"() <{{sym_name = {quoted(name + " w")}, sym_visibility = "private", '
            f"type = memref<1xf32>, initial_value = dense<{index}.5> : tensor<1xf32>, constant}}>"
            " : () -> ()"
        )
        parts.append(
            f"func.func private @{quoted(name + ' f')}(%for: memref<1xf32>, %y: {kind}) attributes "
            f"{{npu.layer = {quoted(name)}, npu.what = {quoted(name)}}} {{\n"
            "%c0 = arith.constant 0 : index\n%memcpy = memref.load %for[%c0] : memref<1xf32>\n"
            "%expf = arith.addf %memcpy, %memcpy : f32\n"
            f"memref.store %expf, %y[%c0] : {kind}\nfunc.return }}"
        )
        arguments.append(
            f"%a{index}: {kind} {{npu.name = {quoted(name)}, sram.output, "
            f"sram.offset = {4 * index} : i64}}"
        )
        calls.append(
            f"%w{index} = memref.get_global @{quoted(name + ' w')} : memref<1xf32>\n"
            f"func.call @{quoted(name + ' f')}(%w{index}, %a{index}) "
            f"{{npu.layer = {quoted(name)}}} : (memref<1xf32>, {kind}) -> ()"
        )
    head = f"func.func @lenet5({', '.join(arguments)}) attributes {{sram.arena = 4096 : i64}}"
    return "\n".join((*parts, f"{head} {{", *calls, "func.return }"))


@pytest.mark.parametrize("language", ["c", "c++"])
def test_hostile_names(language: str) -> None:
    files = emit_text(module_of(HOSTILE))
    found = run_c(files, "lenet5", [], [(1,)] * len(HOSTILE), language=language, in_arena=True)
    np.testing.assert_array_equal(
        np.concatenate(found), np.arange(len(HOSTILE), dtype=np.float32) * 2 + 1
    )


def test_every_name_of_the_languages(tmp_path: Path) -> None:
    names = tuple(sorted(RESERVED))
    write_files(tmp_path, emit_text(module_of(names)), "lenet5")
    for language in LANGUAGES:
        build(tmp_path, ["lenet5.c"], language, ["-c"])


def test_nothing_is_injected(tmp_path: Path) -> None:
    write_files(tmp_path, emit_text(module_of(HOSTILE)), "lenet5")
    for flags in (["-c"], ["-c", "-std=gnu99", "-trigraphs"]):
        build(tmp_path, ["lenet5.c"], "c", flags)
        assert visible_symbols(tmp_path / "program") == ["lenet5_run"]


@given(st.text(max_size=40))
@settings(max_examples=50, deadline=None)
def test_texts_stay_in_their_place(text: str) -> None:
    shown = comment(text)
    assert "*/" not in shown
    assert "/*" not in shown
    assert "??" not in shown
    assert shown.isascii()
    assert shown.isprintable() or not shown
    assert "\\" not in shown
    inside = literal(text)[1:-1]
    assert inside.isascii()
    assert "\n" not in inside
    assert inside.replace("\\\\", "").replace('\\"', "").count('"') == 0
    assert "??" not in inside
    assert is_identifier(identifier(text)) or identifier(text) in RESERVED


def test_names_of_functions_for_vectors_are_free() -> None:
    """There are too many forms of these functions to list them."""
    assert identifier("npu_mve_mul_runs_3x4_one") == "nnpu_mve_mul_runs_3x4_one"
    assert [is_identifier(each) for each in ("npu_mve_x", "npu_mve", "npu_mvex")] == [0, 0, 1]


def test_scopes() -> None:
    outer = Scope(taken=("for",))
    inner = Scope(outer)
    assert [outer.fresh("for"), inner.fresh("x"), outer.fresh("x")] == ["for_2", "x", "x"]
    assert Scope(outer).fresh("x") == "x_2"


def test_numbers_of_names() -> None:
    """A scope goes on with the numbers of the one around it, and gives each free number once."""
    outer = Scope(taken=("x_4",))
    assert [outer.fresh("x") for _ in range(4)] == ["x", "x_2", "x_3", "x_5"]
    inner = Scope(outer)
    assert [inner.fresh("x") for _ in range(2)] == ["x_6", "x_7"]
    assert [Scope(outer).fresh("x"), outer.fresh("x")] == ["x_6", "x_6"]


@pytest.mark.parametrize("prefix", ["a-b", "1a", "for", "_x", "a b", "é", "npu_mve"])
def test_a_bad_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(PassFailedException, match="is no C identifier"):
        emit_text(module_of(("a",)), prefix)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/*", "/ *"), ("*/", "* /"), ("/*/", "/ * /"), ("a ~ b", "a ~ b"), ("\x7f", "<U+007F>")],
)
def test_what_would_begin_or_end_a_comment(text: str, shown: str) -> None:
    assert comment(text) == shown
