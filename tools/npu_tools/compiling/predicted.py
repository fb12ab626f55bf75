"""The option `--instructions`: what the prediction needs to know of the layers.

Loops do not tell how many zeros the layers read. `npu-measure-zeros` finds out while layers still
are single ops, and only programs whose instructions are predicted pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.arg_spec import ArgSpec

OUTLINE, MEASURE_ZEROS = "npu-outline-layers", "npu-measure-zeros"


def measuring_zeros(specs: Sequence[ArgSpec]) -> list[ArgSpec]:
    """A pipeline that measures zeros behind the pass that gives each layer a function, if any."""
    found: list[ArgSpec] = []
    for spec in specs:
        found += (spec, ArgSpec(MEASURE_ZEROS, {})) if spec.name == OUTLINE else (spec,)
    return found
