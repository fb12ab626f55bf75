"""Random networks with concatenations."""

from __future__ import annotations

from hypothesis import strategies as st


def tensor(channels: int) -> str:
    """The type of a map."""
    return f"tensor<1x{channels}x2x2xf32>"


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A random graph with concatenations of concatenations; some values are returned."""
    values: list[tuple[str, int]] = [("x", 2)]
    lines: list[str] = []
    for index in range(draw(st.integers(1, 9))):
        name, channels = draw(st.sampled_from(values[-4:]))
        other, more = draw(st.sampled_from(values[-4:]))
        op = draw(st.sampled_from(("relu", "softmax", "transpose", "concat", "concat", "concat")))
        kind = tensor(channels)
        result = channels + more if op == "concat" else channels
        text = {
            "relu": f"npu.relu %{name} : {kind}",
            "softmax": f"npu.softmax %{name} axis 1 : {kind}",
            "transpose": f"npu.transpose %{name} perm [0, 1, 3, 2] : {kind}",
            "concat": f"npu.concat %{name}, %{other} axis 1 : ({kind}, {tensor(more)})",
        }[op]
        if result > 24:
            continue
        lines.append(f"%v{index} = {text} -> {tensor(result)}")
        values.append((f"v{index}", result))
    returned = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
    types = ", ".join(tensor(channels) for _, channels in returned)
    lines.append(f"func.return {', '.join(f'%{name}' for name, _ in returned)} : {types}")
    body = "\n  ".join(lines)
    return f"func.func @f(%x: {tensor(2)}) -> ({types}) {{\n  {body}\n}}\n"
