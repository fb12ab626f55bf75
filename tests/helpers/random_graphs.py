"""Random graphs of small layers on tensors, as text."""

from __future__ import annotations

from hypothesis import strategies as st

SHAPES = ((2, 3), (3, 2), (6,), (1, 6))


def tensor(shape: tuple[int, ...]) -> str:
    """The type of a map."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A random graph of two inputs that returns some of its values, perhaps twice."""
    values: list[tuple[str, tuple[int, ...]]] = [("x", (2, 3)), ("y", (2, 3)), ("c", (2, 3))]
    lines = ["%c = arith.constant dense<0.25> : tensor<2x3xf32>"]
    for index in range(draw(st.integers(0, 10))):
        name, shape = draw(st.sampled_from(values[-4:]))
        twins = [other for other, kind in values if kind == shape]
        other, kind = draw(st.sampled_from(twins)), tensor(shape)
        op = draw(
            st.sampled_from(("relu", "clamp", "add", "softmax", "softmax", "reshape", "reshape"))
        )
        result = draw(st.sampled_from(SHAPES)) if op == "reshape" else shape
        text = {
            "relu": f"npu.relu %{name} : {kind}",
            "clamp": f"npu.clamp %{name} low -0.5 high 0.5 : {kind}",
            "add": f"npu.add %{name}, %{other} : ({kind}, {kind})",
            "softmax": f"npu.softmax %{name} axis 0 : {kind}",
            "reshape": f"npu.reshape %{name} : {kind}",
        }[op]
        lines.append(f"%v{index} = {text} -> {tensor(result)}")
        values.append((f"v{index}", result))
    returned = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    types = ", ".join(tensor(shape) for _, shape in returned)
    lines.append(f"func.return {', '.join(f'%{name}' for name, _ in returned)} : {types}")
    body = "\n  ".join(lines)
    return f"func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> ({types}) {{\n  {body}\n}}\n"
