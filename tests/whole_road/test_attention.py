"""Attention runs row by row: how much memory it takes, and what its C computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import int64, model, node
from npu_tools.commands.compile import main


def attention(tokens: int, heads: int, depth: int, *, masked: bool) -> ModelProto:
    """Attention of three inputs [1, tokens, heads * depth], as torch exports it."""
    nodes = [
        *(node("Reshape", f"{x} split", f"{x}4", name=f"{x}4") for x in "qkv"),
        node("Transpose", "q4", "qh", perm=[0, 2, 1, 3], name="qh"),
        node("Transpose", "k4", "kh", perm=[0, 2, 3, 1], name="kh"),
        node("Transpose", "v4", "vh", perm=[0, 2, 1, 3], name="vh"),
        node("MatMul", "qh kh", "scores", name="scores"),
        node("Mul", "scores scale", "scaled", name="scale"),
        node("Add", "scaled mask", "masked", name="mask"),
        node("Softmax", "masked" if masked else "scaled", "weights", axis=-1, name="softmax"),
        node("MatMul", "weights vh", "mixed", name="mixed"),
        node("Transpose", "mixed", "merged", perm=[0, 2, 1, 3], name="merged"),
        node("Reshape", "merged join", "y", name="y"),
    ]
    lower = np.tril(np.ones((tokens, tokens), bool))
    weights = {
        "split": int64(1, tokens, heads, depth),
        "join": int64(1, tokens, heads * depth),
        "scale": np.array(depth**-0.5, np.float32),
        "mask": np.where(lower, 0, -1e9).astype(np.float32),
    }
    used = [each for each in nodes if masked or each.name != "mask"]
    kept = weights if masked else {key: each for key, each in weights.items() if key != "mask"}
    return model(used, dict.fromkeys("qkv", (1, tokens, heads * depth)), ["y"], kept, opset=17)


def compiled(
    folder: Path, capsys: pytest.CaptureFixture[str], proto: ModelProto, *more: str
) -> dict[str, Any]:
    """The report of a verified compilation."""
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    code = main([str(folder / "net.onnx"), "-o", str(folder / "out"), "--json", "--verify", *more])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize(("tokens", "heads", "depth"), [(65, 4, 16), (98, 1, 64), (50, 3, 8)])
def test_the_arena_has_one_row_of_scores(
    tokens: int, heads: int, depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Queries, keys, values, output and a row of scores for each head, and 3 % more at most."""
    proto = attention(tokens, heads, depth, masked=True)
    report = compiled(tmp_path, capsys, proto, "--target", "host", "--pipeline", "rows")
    needed = 4 * (4 * tokens * heads * depth + heads * tokens)
    assert report["arena_bytes"] <= 1.03 * needed
    assert "npu.transpose" not in {layer["op"] for layer in report["layers"]}


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
def test_with_dma_only_the_ends_cross_the_border(
    masked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens, width = 128, 64
    proto = attention(tokens, 4, width // 4, masked=masked)
    report = compiled(tmp_path, capsys, proto, "--target", "zynq7020")
    moved = report["off_chip"]
    maps = 4 * tokens * width
    mask = 4 * tokens * tokens if masked else 0
    assert moved["feature_map_write_bytes"] == maps
    assert moved["feature_map_read_bytes"] + moved["weight_bytes"] <= 3 * maps + mask + 4 * tokens
