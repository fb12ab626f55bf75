"""How large the numbers in a map are expected to be: what the weights' scale follows from.

He initialisation keeps the size of the numbers through a chain of convolutions and ReLUs. Pooling,
branches and additions change it, so each map carries its expected mean and variance over all its
elements, and the next layer's weights are scaled by them. Maps are taken as normally distributed
before a ReLU: an estimate, good enough to keep activations near 1 in a hundred layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, exp, pi, sqrt

CORRELATED = 0.5
"""Share of the variance that neighbouring elements have in common, measured on these networks."""


@dataclass(frozen=True)
class Moments:
    """Expected mean and variance of the elements of a map."""

    mean: float = 0.0
    variance: float = 1.0

    @property
    def power(self) -> float:
        """Expected square of an element."""
        return self.mean**2 + self.variance

    def rectified(self) -> Moments:
        """After a ReLU."""
        if self.variance == 0:
            return Moments(max(self.mean, 0.0), 0.0)
        deviation = sqrt(self.variance)
        ratio = self.mean / deviation
        positive = (1 + erf(ratio / sqrt(2))) / 2
        density = exp(-(ratio**2) / 2) / sqrt(2 * pi)
        mean = self.mean * positive + deviation * density
        power = self.power * positive + self.mean * deviation * density
        return Moments(mean, max(power - mean**2, 0.0))

    def largest(self) -> Moments:
        """After a max pool of a few elements: one deviation of what they do not share."""
        return Moments(self.mean + sqrt((1 - CORRELATED) * self.variance), self.variance)

    def averaged(self, count: int) -> Moments:
        """After an average of `count` elements."""
        return Moments(self.mean, self.variance * (CORRELATED + (1 - CORRELATED) / count))

    def __add__(self, other: Moments) -> Moments:
        """Of the sum of two maps."""
        return Moments(self.mean + other.mean, self.variance + other.variance)


def mixed(parts: Sequence[tuple[int, Moments]]) -> Moments:
    """Of maps behind one another, each with its number of channels."""
    total = sum(count for count, _ in parts)
    mean = sum(count * part.mean for count, part in parts) / total
    power = sum(count * part.power for count, part in parts) / total
    return Moments(mean, power - mean**2)
