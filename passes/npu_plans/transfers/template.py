"""The bytes of microcode of a transfer in the style of paper 004 (Cecconi et al., listing 1.2).

    mov src; mov dst; mov config
    loop0 rows { loop1 bursts { ld; st }; loop1 n { add src } }      // for each of sigma_k channels
    loop1 n { add src }                                              // between two of them
    ...
    sev; end

Two loops are nested, and everything outside of them is unrolled. A loop of additions moves an
address. The paper does not specify bursts, heads and tails, so these are ours. So is the memory
barrier, which `pl330-check` requires.
"""

from __future__ import annotations

from math import prod

from npu_plans.transfers.bursts import Bursts
from npu_plans.transfers.runs import RunAxis, Runs
from npu_plans.transfers.transfer_code import ROUNDS, jump, size_of

MOV = 6
COPY = 2
LOOP = 4
END = 4
"""DMAWMB, DMASEV and DMAEND."""


def template_bytes(runs: Runs, bursts: tuple[Bursts, ...]) -> int:
    """Bytes of the paper's program for a transfer of these runs, each in these bursts."""
    *outer, rows = runs.axes or (RunAxis(1, runs.bytes, runs.bytes),)
    alike = len(bursts) == 1
    row = sum((0 if alike else MOV) + COPY + loops(each.count) for each in bursts)
    channel = row
    if rows.count > 1:
        left = (rows.source - runs.bytes, rows.target - runs.bytes)
        channel = -(-rows.count // ROUNDS) * (LOOP + row + sum(map(moved, left)))
    copies, between, inner = prod(axis.count for axis in outer), 0, rows
    for depth, axis in reversed(list(enumerate(outer))):
        times = prod(each.count for each in outer[:depth]) * (axis.count - 1)
        left = (
            axis.source - inner.count * inner.source,
            axis.target - inner.count * inner.target,
        )
        between, inner = between + times * sum(map(moved, left)), axis
    return 2 * MOV + MOV * alike + copies * channel + between + END


def loops(count: int) -> int:
    """Bytes of the loop instructions that repeat a body `count` times."""
    return LOOP * (count > 1) + LOOP * (count > ROUNDS)


def moved(amount: int) -> int:
    """Bytes of code of a loop of additions that moves an address by `amount` bytes."""
    return max(LOOP + 3, size_of(jump("sar", amount, 1))) if amount else 0
