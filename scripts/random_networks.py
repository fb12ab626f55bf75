"""Compiles random ONNX networks of every operator, runs them, and compares them with onnxruntime.

    python scripts/random_networks.py --count 1000            in C, with random options
    python scripts/random_networks.py --count 10000 --layers  in the interpreter, which is faster
    python scripts/random_networks.py --seed 137 --count 1 --show

Each network that is refused or wrong is printed with its seed. The exit code is 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from xdsl.utils.exceptions import DiagnosticException

from npu_tools.shared.errors import UserError

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.every_operator.draw import Drawn, draw
from helpers.every_operator.judge import in_c, interpreted

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
MOST_CHARACTERS = 300


def verdict(drawn: Drawn, seed: int, *, layers: bool) -> tuple[str, str]:
    """What became of a network: `right`, `refused` or `wrong`, and why."""
    try:
        if layers:
            said = interpreted(drawn)
        else:
            with tempfile.TemporaryDirectory() as folder:
                said = in_c(drawn, seed, Path(folder))
    except (UserError, DiagnosticException) as error:
        return REFUSED, " | ".join(str(error).splitlines())[:MOST_CHARACTERS]
    except Exception as error:  # whatever it is, it is the finding
        return WRONG, f"{type(error).__name__}: {error}"[:MOST_CHARACTERS]
    return (WRONG if said else RIGHT), said


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the networks of some seeds; returns 1 if one is wrong."""
    parser = argparse.ArgumentParser(description="Compile random networks and compare them.")
    parser.add_argument("--count", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the first seed")
    parser.add_argument("--layers", action="store_true", help="interpret the layers; emit no C")
    parser.add_argument("--show", action="store_true", help="print the operators of each network")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    found, operators, start = Counter[str](), Counter[str](), time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        drawn = draw(seed)
        kinds = [node.op_type for node in drawn.model.graph.node]
        operators.update(set(kinds))
        what, why = verdict(drawn, seed, layers=options.layers)
        found[what] += 1
        if options.show or what != RIGHT:
            print(f"{seed} ({drawn.form}) {what}: {why} [{' '.join(kinds)}]", flush=True)
    counts = ", ".join(f"{found[what]} {what}" for what in (RIGHT, REFUSED, WRONG))
    seconds = time.monotonic() - start
    print(f"{counts}; {len(operators)} operators; {seconds:.0f} s")
    return int(found[WRONG] > 0)


if __name__ == "__main__":
    sys.exit(main())
