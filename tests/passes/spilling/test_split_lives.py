"""npu-split-lives on random networks: the same numbers, and no trace where nothing is saved."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from helpers.pipeline import context, run_passes
from helpers.spilled import BUFFERS, with_machine
from npu_dialect.attributes import MOVES
from npu_dialect.interpreters import run_function
from npu_dialect.walking import walk_kind

SPLIT = f"{BUFFERS},npu-split-lives"
TILES = "npu-keep-maps,npu-keep-parts,npu-gather-readers,npu-tile-loops"


def tensor(channels: int) -> str:
    """The type of a map."""
    return f"tensor<1x{channels}x4x4xf32>"


@st.composite
def networks(draw: st.DrawFn) -> str:
    """Chains that begin at maps of long ago, and a concatenation of some, which others read."""
    kind = tensor(4)
    names, lines = ["x"], list[str]()
    for index in range(draw(st.integers(10, 24))):
        old = draw(st.sampled_from(names[:4]))
        new = names[-1]
        op = draw(st.sampled_from(("relu", "transpose", "transpose", "transpose", "add", "mix")))
        lines.append(
            f"%v{index} = "
            + {
                "relu": f"npu.relu %{new} : {kind}",
                "transpose": f"npu.transpose %{new} perm [0, 1, 3, 2] : {kind}",
                "add": f"npu.add %{new}, %{draw(st.sampled_from(names[-6:]))} : ({kind}, {kind})",
                "mix": f"npu.add %{new}, %{old} : ({kind}, {kind})",
            }[op]
            + f" -> {kind}"
        )
        names.append(f"v{index}")
    parts = draw(st.lists(st.sampled_from(names[1:]), min_size=2, max_size=6, unique=True))
    whole = tensor(4 * len(parts))
    lines.append(
        f"%all = npu.concat {', '.join(f'%{each}' for each in parts)} axis 1 : "
        f"({', '.join([kind] * len(parts))}) -> {whole}"
    )
    lines.append(f"%y = npu.transpose %all perm [0, 1, 3, 2] : {whole} -> {whole}")
    lines.append(f"func.return %y, %{names[-1]} : {whole}, {kind}")
    body = "\n  ".join(lines)
    return f"func.func @f(%x: {kind}) -> ({whole}, {kind}) {{\n  {body}\n}}\n"


def moves(module: ModuleOp) -> list[memref.CopyOp]:
    """The copies that the pass has made, and not settled."""
    return [each for each in walk_kind(module, memref.CopyOp) if MOVES.is_on(each)]


@settings(max_examples=60, deadline=None)
@given(text=networks(), sram_bytes=st.sampled_from([600, 900, 1200, 1700]))
def test_a_network_with_split_lives_computes_the_same(text: str, sram_bytes: int) -> None:
    ctx = context()
    module = with_machine(ctx, text, sram_bytes)
    x = np.random.default_rng(5).standard_normal((1, 4, 4, 4)).astype(np.float32)
    expected = run_function(module, "f", [x])
    whole = run_passes(ctx, module, BUFFERS)
    split = run_passes(ctx, whole, "npu-split-lives")
    try:
        settled = run_passes(ctx, split, "npu-spill-maps")
        tiled = run_passes(ctx, settled, TILES)
    except PassFailedException:
        reject()
    stores = sum(1 for _ in walk_kind(settled, memref.CopyOp)) - sum(
        1 for _ in walk_kind(whole, memref.CopyOp)
    )
    event(f"{min(len(moves(split)), 3)} moves")
    event(f"{min(stores, 3)} stores")
    assert not moves(settled)
    for each in (split, settled, tiled):
        for got, want in zip(run_function(each, "f", [x]), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    if stores == 0:
        assert str(settled) == str(run_passes(ctx, whole, "npu-spill-maps"))
    roomy = run_passes(ctx, split, "npu-spill-maps{sram-bytes=1000000}")
    assert str(roomy) == str(whole)
    assert str(run_passes(ctx, module, SPLIT)) == str(split)
