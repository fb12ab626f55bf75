"""The expected size of the numbers in a map, from which the scale of the weights follows.

He initialisation keeps the size of the numbers through a chain of convolutions and ReLUs. Pooling,
branches and additions change it, so each map carries its expected mean and variance over all its
elements, and the next layer's weights are scaled by them. Maps are taken as normally distributed
before a ReLU: an estimate, good enough to keep activations near 1 in a hundred layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf, exp, pi, sqrt

CORRELATED = 0.5
"""Share of the variance that neighbouring elements have in common, measured on these networks."""


STEPS, REACH = 200, 6.0
"""Where functions are sampled: so many places, within so many deviations of the mean."""


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
        """The moments after a ReLU."""
        if self.variance == 0:
            return Moments(max(self.mean, 0.0), 0.0)
        deviation = sqrt(self.variance)
        ratio = self.mean / deviation
        positive = (1 + erf(ratio / sqrt(2))) / 2
        density = exp(-(ratio**2) / 2) / sqrt(2 * pi)
        mean = self.mean * positive + deviation * density
        power = self.power * positive + self.mean * deviation * density
        return Moments(mean, max(power - mean**2, 0.0))

    def through(self, function: Callable[[float], float]) -> Moments:
        """The moments after a function of each element."""
        deviation = sqrt(self.variance)
        places = [REACH * (2 * step / STEPS - 1) for step in range(STEPS + 1)]
        density = [exp(-(place**2) / 2) for place in places]
        values = [function(self.mean + deviation * place) for place in places]
        total = sum(density)
        mean = sum(d * v for d, v in zip(density, values, strict=True)) / total
        power = sum(d * v**2 for d, v in zip(density, values, strict=True)) / total
        return Moments(mean, max(power - mean**2, 0.0))

    def largest(self) -> Moments:
        """The moments after a max pool: the mean grows by one deviation of what is not shared."""
        return Moments(self.mean + sqrt((1 - CORRELATED) * self.variance), self.variance)

    def averaged(self, count: int) -> Moments:
        """The moments after an average pool of `count` elements."""
        return Moments(self.mean, self.variance * (CORRELATED + (1 - CORRELATED) / count))

    def __add__(self, other: Moments) -> Moments:
        """The moments of the sum of two maps."""
        return Moments(self.mean + other.mean, self.variance + other.variance)


def mixed(parts: Sequence[tuple[int, Moments]]) -> Moments:
    """The moments of a concatenation of maps, each with its number of channels."""
    total = sum(count for count, _ in parts)
    mean = sum(count * part.mean for count, part in parts) / total
    power = sum(count * part.power for count, part in parts) / total
    return Moments(mean, power - mean**2)
