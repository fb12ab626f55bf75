"""Damaged `tosa` and `linalg` texts: npu-compile gives one diagnostic each, or compiles them."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from helpers.paths import ROOT
from npu_tools.commands import compile

FOLDER = ROOT / "lit-tests/passes/conversion"
SOURCES = (
    "convert_tosa_to_npu/lenet5.mlir",
    "convert_tosa_to_npu/layers.mlir",
    "convert_tosa_to_npu/integers.mlir",
    "convert_tosa_to_npu/versions.mlir",
    "convert_linalg_to_npu/lenet5.mlir",
    "convert_linalg_to_npu/torch.mlir",
)
QUICK, ALL = 40, 300
WORDS = (
    *("tensor<1x4xf32>", "f32", "i8", "dense<1.0>", "array<i64: 1>", "-1", "0", "99999999999"),
    *("%x", "tosa.conv2d", "linalg.matmul", "tosa.custom", "{", "}", "(", ")", "->", ":", "?"),
    *("tensor<*xf32>", "tensor<0x4xf32>", "memref<4xf32>", "none", "true", "#map", "\x00", "ü"),
)


def functions(path: Path) -> list[str]:
    """The functions of a lit test, each with the aliases before the first one."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("//"))
    start = text.index("func.func")
    head = text[:start] if text.lstrip().startswith("#") else ""
    if "module {" in text:
        return [text]
    return [head + "func.func" + part for part in text[start:].split("func.func")[1:]]


def damaged(random: Random) -> str:
    """A function with some changes: half of them break the syntax, half of them the meaning."""
    text = random.choice(functions(FOLDER / random.choice(SOURCES)))
    change = random.choice((torn, bent))
    changed = text
    for _ in range(random.randint(1, 3)):
        changed = change(random, changed)
    return damaged(random) if changed == text else changed


def torn(random: Random, text: str) -> str:
    """A text with tokens that are lost, doubled, swapped, replaced."""
    tokens = re.findall(r"\s+|[A-Za-z_%#@.0-9]+|.", text)
    places = [place for place, token in enumerate(tokens) if token.strip()]
    one, two = random.choice(places), random.choice(places)
    match random.randrange(5):
        case 0:
            tokens[one] = ""
        case 1:
            tokens[one] += tokens[two]
        case 2:
            tokens[one], tokens[two] = tokens[two], tokens[one]
        case 3:
            tokens[one] = random.choice(WORDS)
        case _:
            del tokens[min(one, two) : min(one, two) + random.randrange(40)]
    return "".join(tokens)


KINDS = (
    *(r"\b\d+(?=x)", r"(?<== )-?\d+", r"(?<=[ <\[])-?\d+(?=[,>\]])", r"\b[fi]\d+\b"),
    *(r"%[a-z_0-9]+", r"\b(?:tosa|linalg|tensor|arith)\.[a-z_0-9]+", r"\b[a-z_]+(?= =)", r"\n.*"),
)
"""Tokens that may be swapped: extents, numbers, element types, values, ops, attributes, lines."""


def bent(random: Random, text: str) -> str:
    """A text in which one token takes the place of another one of its kind."""
    found = list(re.finditer(random.choice(KINDS), text))
    if not found:
        return text
    one, two = random.choice(found), random.choice(found)
    new = random.choice((two[0], two[0], re.sub(r"\d$", str(random.randrange(10)), one[0])))
    return text[: one.start()] + new + text[one.end() :]


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(n, marks=pytest.mark.slow) for n in range(QUICK, ALL))],
)
def test_one_diagnostic(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "net.mlir", tmp_path / "out"
    path.write_text(damaged(Random(seed)), encoding="utf-8")
    pipeline = "npu-bufferize,npu-assign-sram-offsets,npu-lower-to-loops"
    code = compile.main([str(path), "--target", "host", "-o", str(out), "--pipeline", pipeline])
    printed = capsys.readouterr()
    if code == 0:
        assert not printed.err
        return
    assert code == 1
    assert printed.err.startswith("npu-compile: error: ")
    assert printed.err.count("npu-compile: error: ") == 1
    assert str(path) in printed.err
    assert "Traceback" not in printed.err
    assert "NPU_TRACEBACK" not in printed.err, printed.err
    assert not out.exists()


def test_texts_differ() -> None:
    texts = [damaged(Random(seed)) for seed in range(ALL)]
    assert len(set(texts)) > 0.95 * ALL
