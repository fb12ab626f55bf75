"""Advice for a network that does not fit: other ways to compile it that do, each tried.

    advice = advise(job, misfit)
    for entry in advice.entries:
        print(entry)        # with --pipeline rows: 41568 of 65536 bytes of SRAM

`npu-compile` ends its diagnostic with the cheapest of them, and the HTML report shows them.
"""

from npu_tools.advice.advise import SECONDS, advise
from npu_tools.advice.entries import Advice, Entry

__all__ = ["SECONDS", "Advice", "Entry", "advise"]
