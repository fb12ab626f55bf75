"""Predicted instructions beside those of emulated boards, on networks that the fit has not seen."""

from __future__ import annotations

import pytest

from helpers.emulated import require
from helpers.instructions.networks import UNSEEN
from helpers.instructions.samples import error_of, sample
from npu_plans.instructions.costs import costs_of

MOST_OF_NETWORK = 0.1
MOST_OF_LAYER = 0.2

TOO_LARGE = (("inception_small", "float", "fe310"),)
"""Networks that do not fit a core."""

FAST = "lenet5"
"""The network that is compared in each run of the tests."""

LONG = ("darts", "efficientnet", "nasnet_a", "randwire")
"""Networks that take minutes; `bench/instructions.py` compares them, too."""


def compare(network: str, form: str, target: str) -> None:
    """Check the prediction for a network, and for its large layers."""
    costs = costs_of(require(target))
    found = sample(network, form, target, costs.core)
    assert abs(found.error(costs)) <= MOST_OF_NETWORK
    off = {each.name: error_of(each, costs) for each in found.large_layers}
    off = {name: error for name, error in off.items() if abs(error) > MOST_OF_LAYER}
    assert not off


@pytest.mark.parametrize("form", ["int8", "float"])
@pytest.mark.parametrize("target", ["cortex-m4", "fe310"])
def test_one_network(form: str, target: str) -> None:
    compare(FAST, form, target)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["int8", "float"])
@pytest.mark.parametrize("target", ["cortex-m4", "fe310"])
@pytest.mark.parametrize("network", [name for name in UNSEEN if name not in (FAST, *LONG)])
def test_all_networks(network: str, form: str, target: str) -> None:
    if (network, form, target) in TOO_LARGE:
        pytest.skip(f"{network} does not fit {target}")
    compare(network, form, target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "form"), [("efficientnet", "float"), ("cifar10", "int8"), ("resnet50", "int8")]
)
def test_some_networks_on_cortex_m7(network: str, form: str) -> None:
    """Its FPU knows double precision, in which its library computes the exp of the first one."""
    compare(network, form, "cortex-m7")
