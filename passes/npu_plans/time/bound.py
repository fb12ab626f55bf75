"""A bound on the cycles of a program that no order of its transfers gets below. No IR in here.

Given are the layers in their order, the tiles that each of them uses, and what is moved. Free are
the times of all transfers, the places of tiles on chip, and in how many copies they are there.

    end of layer i                          start of layer k
         |  layers i + 1 .. k - 1               |
         |  loads of what i + 1 .. k need       |
         |  stores of what i .. k - 1 compute   |

While layer i computes, what it uses is on chip. So of the loads that later layers need, those that
have begun by then fit into the memory that it leaves; all others run between the two times. So do
those of maps that layer i or a later one computes. Likewise, the stores that are not done when
layer k starts fit into the memory that layer k leaves; but those that one of the layers up to k
needs to be loaded again are done. What runs between the two times takes at least as long as its
data cross the bus, and as its transfers keep the channels. The bound is the longest chain of such
times and of layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npu_plans.time.rates import Rates

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

AHEAD = 500
"""The most layers between two times; with more, the bound may be higher, and takes longer."""


@dataclass(frozen=True)
class Layer:
    """A layer that takes some cycles, and uses `room` bytes on chip meanwhile.

    The bytes are those of its tiles, and of maps that lie there for later layers.
    """

    cycles: int
    room: int = 0


@dataclass(frozen=True)
class Load:
    """A load of some bytes in some contiguous runs that layer `user` is the first one to use.

    `source`: the last layer that computes some of it; -1 if none does.
    """

    user: int
    bytes: int
    runs: int = 1
    source: int = -1


@dataclass(frozen=True)
class Store:
    """A store of some bytes in some contiguous runs that layer `source` is the last one to compute.

    `needed`: the first layer that uses some of it after it has been loaded again, if there is one.
    `kept`: whether later layers read it on chip, too, so that the store takes no memory of its own;
    then nothing is said about when it runs.
    """

    source: int
    bytes: int
    runs: int = 1
    needed: int | None = None
    kept: bool = False


@dataclass(frozen=True)
class Plan:
    """The layers of a program in their order, and its transfers, by the numbers of the layers."""

    layers: tuple[Layer, ...]
    loads: tuple[Load, ...] = ()
    stores: tuple[Store, ...] = ()


@dataclass(frozen=True)
class Moved:
    """Transfers in the order of the layers `at`: the cycles of their data, and of all of them."""

    at: Ints
    data: Floats
    own: Floats
    other: Ints
    """The layer at the other end: that computes what is loaded, or that needs what is stored."""


def moved_of(transfers: Sequence[tuple[int, int, Load | Store]], rates: Rates) -> Moved:
    """Transfers with the layers at both ends, as arrays."""
    order = sorted(transfers, key=lambda each: each[0])
    data = [float(each.bytes / rates.dma_bytes_per_cycle) for *_, each in order]
    own = [float(rates.latency(each.runs) + rates.data(each.bytes)) for *_, each in order]
    at, other = ([each[end] for each in order] for end in (0, 1))
    return Moved(np.array(at, np.int64), np.array(data), np.array(own), np.array(other, np.int64))


def least_cycles(plan: Plan, capacity: int, rates: Rates) -> int:
    """The cycles that a program takes at least, with `capacity` bytes on chip.

    Raises: UnknownRate if it has transfers and the machine has no DMA engine.
    """
    count = len(plan.layers)
    loads = moved_of([(each.user, each.source, each) for each in plan.loads], rates)
    never = count + 1
    stores = moved_of(
        [
            (each.source, never if each.needed is None else each.needed, each)
            for each in plan.stores
            if not each.kept
        ],
        rates,
    )
    rate = float(rates.dma_bytes_per_cycle) or 1.0
    left = [max(0, capacity - each.room) / rate for each in plan.layers]
    free = np.array([*left, 0.0])  # at the end, nothing is left to be stored
    begins = np.zeros(count + 1)
    for last in range(-1, count):
        end = begins[last] + plan.layers[last].cycles if last >= 0 else 0.0
        begins[last + 1] = max(begins[last + 1], end)
        until = np.arange(last + 1, min(count, last + AHEAD) + 1)
        early = free[last] if last >= 0 else 0.0
        between = between_cycles(loads, stores, last, until, (early, free[until]), rates.channels)
        begins[until] = np.maximum(begins[until], end + between)
    return int(begins[count] + 1e-6)


def between_cycles(
    loads: Moved,
    stores: Moved,
    last: int,
    until: Ints,
    free: tuple[float, Floats],
    channels: int,
) -> Floats:
    """The cycles of transfers between the end of layer `last` and the start of each of `until`.

    `free`: the memory that layer `last` and each of `until` leave, in cycles of the bus.
    """
    first = np.searchsorted(loads.at, last, side="right")
    new = loads.other[first:] >= last if last >= 0 else np.ones(loads.at.size - first, bool)
    upto = np.searchsorted(loads.at[first:], until, side="right")
    data, own = loads.data[first:], loads.own[first:]
    bus = summed(data * new, upto) + beyond(data, ~new, upto, free[0])
    busy = summed(own * new, upto) + beyond_own(data, own, ~new, upto, free[0])
    first = np.searchsorted(stores.at, last)
    before = np.searchsorted(stores.at[first:], until)
    data, own, needed = stores.data[first:], stores.own[first:], stores.other[first:]
    due = np.searchsorted(np.sort(needed), until, side="right")
    order = np.argsort(needed, kind="stable")
    must = summed(data[order], due)
    bus += np.maximum(must, summed(data, before) - free[1])
    busy += summed(own[order], due)
    return np.maximum(bus, busy / max(1, channels))


def summed(cycles: Floats, counts: Ints) -> Floats:
    """The sums of the first so many numbers, for each count."""
    return np.concatenate(([0.0], np.cumsum(cycles)))[counts]


def beyond(data: Floats, picked: npt.NDArray[np.bool_], counts: Ints, free: float) -> Floats:
    """Of the picked ones of so many transfers, the data that do not fit into some memory."""
    return np.maximum(0.0, summed(data * picked, counts) - free)


def beyond_own(
    data: Floats, own: Floats, picked: npt.NDArray[np.bool_], counts: Ints, free: float
) -> Floats:
    """The cycles of the picked ones of so many transfers but those that fit into some memory.

    The latter take at most as long for each byte as the one that takes longest. Transfers of no
    bytes take no memory.
    """
    some = picked & (data > 0)
    rates = np.where(some, own / np.where(some, data, 1.0), 0.0)
    most = np.concatenate(([0.0], np.maximum.accumulate(rates)))[counts]
    return np.maximum(0.0, summed(own * some, counts) - free * most)
