"""Makers of recurrent layers, and of pools by norms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from helpers.every_operator.floats import Maker, overhangs
from helpers.every_operator.network import Network
from helpers.random_onnx import window

GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def recurrent(kind: str, net: Network) -> bool:
    """A recurrent layer over a sequence [T, N, features], in one direction or both."""
    if (x := net.pick(3)) is None:
        return False
    random, (_, batch, features) = net.random, net.shape(x)
    width, gates = random.randint(1, 4), GATES[kind]
    direction = random.choice(("forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    inputs = [x, net.normal(ways, gates * width, features), net.normal(ways, gates * width, width)]
    if random.random() < 0.7:
        inputs.append(net.normal(ways, 2 * gates * width))
    if random.random() < 0.4:
        inputs += [""] * (5 - len(inputs))
        inputs.append(net.normal(ways, batch, width))
    attributes: dict[str, Any] = {"hidden_size": width, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = random.randint(0, 1)
    outputs = random.choice((1, 2, 3 if kind == "LSTM" else 2))
    return net.add(kind, inputs, outputs=outputs, **attributes)


def norm_pool(kind: str, net: Network) -> bool:
    """A pool by the norm of its windows."""
    if (x := net.pick(4)) is None:
        return False
    attributes: dict[str, Any] = {"p": net.random.choice((1, 2))}
    if kind == "LpPool":
        attributes |= window(net, conv=False)
        attributes.pop("dilations", None)
        if overhangs(attributes, net.shape(x)):
            return False
    return net.add(kind, [x], **attributes)


RECURRENT: Mapping[str, Maker] = {
    **{kind: partial(recurrent, kind) for kind in GATES},
    **{kind: partial(norm_pool, kind) for kind in ("GlobalLpPool", "LpPool")},
}
"""Makers by the operator that they add."""
