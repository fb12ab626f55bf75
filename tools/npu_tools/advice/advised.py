"""Compiles a network; if it does not fit, the diagnostic ends with ways that do."""

from __future__ import annotations

from npu_passes.support.refuse import DoesNotFit
from npu_tools.compiling.driver import Compiled, Job, compile_model

MOST = 3
"""How many ways the diagnostic names."""


def compile_or_advise(job: Job) -> Compiled:
    """Compile a model.

    Raises: what `compile_model` raises; a `DoesNotFit` with advice.
    """
    try:
        return compile_model(job)
    except DoesNotFit as misfit:
        from npu_tools.advice.advise import advise

        advice = advise(job, misfit.needed, most=MOST)
        misfit.args = ("\n".join((str(misfit), *advice.lines())),)
        raise
