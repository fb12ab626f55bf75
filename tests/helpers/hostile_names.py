"""A network whose names are markup, script and control characters."""

import numpy as np
from onnx import ModelProto, helper

from helpers.small_models import model_of

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}<!--",
    "a\u2028b\x01 & 'c' %{x}",
)


def hostile_net() -> ModelProto:
    """A chain of convolutions whose nodes and values have hostile names."""
    values = ("input", *(f"{name} out" for name in HOSTILE))
    nodes = [
        helper.make_node("Conv", [values[place], "w"], [values[place + 1]], name)
        for place, name in enumerate(HOSTILE)
    ]
    return model_of(nodes, {"w": np.ones((1, 1, 1, 1), np.float32)}, (1, 1, 8, 8), values[-1])
