"""Convolutions and fully connected layers of floats on vectors."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.float_layers import FloatConv
from helpers.kernel_roads import Road, lowered
from helpers.parsing import parse
from npu_dialect.interpreters import run_function


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(("", "flash=small")))
def test_loops(seed: int, depthwise: bool, options: str) -> None:
    """No sum of small integers is rounded, so all bits must be those of the layer."""
    layer = FloatConv(Random(seed), depthwise=depthwise)
    module = parse(layer.text())
    module.verify()
    wanted = run_function(module.clone(), "f", layer.inputs)[-1]
    loops = lowered(module, Road("cortex-m55", options))
    assert "mve.fma" in str(loops)
    np.testing.assert_array_equal(run_function(loops, "f", layer.inputs)[-1], wanted)
