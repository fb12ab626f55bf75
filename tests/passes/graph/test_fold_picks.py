"""Networks with maps that grow compute the same after folding."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from helpers.chains import Case, networks, outputs
from helpers.pipeline import context, run_passes


@settings(max_examples=40, deadline=None)
@given(case=networks(norms=True, grows=True))
def test_folded_networks_compute_the_same(case: Case) -> None:
    folded = run_passes(context(), case.module, "npu-fold-picks")
    pairs = zip(outputs(folded), outputs(case.module), strict=True)
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
