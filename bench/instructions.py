"""Predicted instructions beside those of emulated microcontrollers; fits the tables of costs.

    python bench/instructions.py [--target NAME ...] [--form int8|float ...] [NETWORK ...]
    python bench/instructions.py --fit cortex-m4

Without --fit, the networks that the fit has not seen are compiled, built with -O2 and run under
QEMU. Printed are the prediction for each network and for each layer that takes more than 2 % of the
instructions; --worst N prints only the N worst of these. The exit code is 1 if a network is off by
more than 10 %, or such a layer by more than 20 %.

--fit measures the random networks of tests/helpers/instructions/networks.py in both forms, fits the
costs, and writes passes/npu_plans/instructions/NAME.toml. Costs are at least 0. They minimise the
relative errors of the layers, where an error above 5 % counts linearly, plus the distance to the
costs of expected_costs.toml, which settles what the measurements do not tell apart.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import PassFailedException

# This folder has files with names of packages.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.instructions.networks import CHAINS, FORMS, SEEDS, UNSEEN
from helpers.instructions.samples import LEVEL, Layer, Sample, error_of, sample
from npu_plans.instructions.costs import Costs, costs_of
from npu_plans.instructions.features import Core
from npu_tools.reports.table import columns
from npu_tools.shared.errors import UserError, guarded
from npu_tools.verifying.emulators import BuildError, EmulatorError
from npu_tools.verifying.emulators.build import compiler_of

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "passes" / "npu_plans" / "instructions"
EXPECTED = Path(__file__).with_name("expected_costs.toml")
CORES = {
    # r0 to r12 and lr, less one for addresses of constants and one for the end of a loop; s0 to
    # s31, less six: gcc 12 keeps some for what it loads next, and six predict random networks best
    # that the fit has not seen. Where loads keep their order, it keeps none, and one less is left
    # for the zero of a rectifier. Offsets of ldr: -255 to 4095, of vldr: -1020 to 1020.
    # Post-indexed ldr: up to 255.
    "cortex-m4": Core(12, 26, 31, (4350, 2040), 255, "words"),
    "cortex-m7": Core(12, 26, 31, (4350, 2040), 255, "words"),
    # x1 to x31 less sp, gp, tp and one for addresses. Offsets of 12 bits.
    "fe310": Core(27, 0, 0, (4095, 4095), 0, "loads"),
}
"""The cores that can be fitted."""
MOST_OF_NETWORK, MOST_OF_LAYER = 0.1, 0.2
"""The largest errors that are met."""
KNOWN, GUESSED, UNKNOWN = 0.0, 6.0, 1.0
"""How much an expected cost weighs; those that are known are not fitted."""
OTHER = 1.0
"""The cost of an event that no network of the fit has."""
STRENGTH = 1e-4
"""How much all expected costs weigh against the measurements."""
LINEAR_FROM = 0.05
"""The relative error of a layer from which on it counts linearly."""
ROUNDS = 8
"""How often the weights of large errors are adapted."""
LEAST = 200
"""The instructions that a layer needs to be part of the fit."""

Array = npt.NDArray[np.float64]


def samples(
    names: Sequence[str], forms: Sequence[str], target: str
) -> Iterator[tuple[str, Sample]]:
    """The networks that fit a machine, each with its form."""
    for name in names:
        for form in forms:
            try:
                yield form, sample(name, form, target, CORES[target])
            except (UserError, PassFailedException, BuildError, EmulatorError) as error:
                print(f"{target} {form} {name}: {str(error).splitlines()[0][:120]}", flush=True)


def compare(target: str, forms: Sequence[str], names: Sequence[str], worst: int | None) -> bool:
    """Print predictions beside measurements; returns whether all are within the limits."""
    costs, good = costs_of(target), True
    layers: list[tuple[str, str, Layer]] = []
    rows = [("network", "form", "predicted", "measured", "error")]
    for form, one in samples(names, forms, target):
        error = one.error(costs)
        good &= abs(error) <= MOST_OF_NETWORK
        predicted = round((1 + error) * one.measured)
        rows.append((one.name, form, str(predicted), str(one.measured), f"{error:+.1%}"))
        layers += [(one.name, form, layer) for layer in one.large_layers]
    print(f"instructions of networks on {target}", *columns(rows, 2), "", sep="\n")
    layers.sort(key=lambda each: -abs(error_of(each[2], costs)))
    rows = [("network", "form", "layer", "measured", "error")]
    for name, form, layer in layers[:worst]:
        error = error_of(layer, costs)
        rows.append((name, form, layer.name, str(layer.measured), f"{error:+.1%}"))
    print(f"layers of more than 2 % on {target}, worst first", *columns(rows, 3), "", sep="\n")
    off = sum(abs(error_of(layer, costs)) > MOST_OF_LAYER for _, _, layer in layers)
    print(f"{target}: {off} of {len(layers)} layers are off by more than {MOST_OF_LAYER:.0%}\n")
    return good and not off


def expected(core: Core) -> dict[str, tuple[float, float]]:
    """The expected cost of each event, and its weight."""
    table = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
    found: dict[str, tuple[float, float]] = {}
    for kind in ("all", "fpu" if core.float_registers else "library"):
        for word, weight in (("known", KNOWN), ("guessed", GUESSED)):
            for cost, names in table[kind].get(word, {}).items():
                found |= dict.fromkeys(names.split(), (float(cost), weight))
    return found


def equations(
    networks: Sequence[Sample], names: Sequence[str], known: Mapping[str, float]
) -> tuple[Array, Array]:
    """The events `names` of each layer, and its instructions without those of the `known` ones.

    Both are divided by its instructions. Layers that take less than 2 % of their network count
    less.
    """
    lines: list[list[float]] = []
    sums: list[float] = []
    for network in networks:
        for layer in network.layers:
            if layer.measured >= LEAST:
                weight = min(1.0, 50 * layer.measured / network.measured) ** 0.5
                scale = weight / layer.measured
                lines.append([layer.features.get(name, 0.0) * scale for name in names])
                fixed = sum(layer.features.get(name, 0.0) * cost for name, cost in known.items())
                sums.append(weight - fixed * scale)
    return np.array(lines), np.array(sums)


def fitted(networks: Sequence[Sample], core: Core) -> dict[str, float]:
    """The costs of all events of some networks."""
    names = sorted({name for one in networks for layer in one.layers for name in layer.features})
    priors = expected(core)
    known = {name: priors[name][0] for name in names if name in priors and not priors[name][1]}
    names = [name for name in names if name not in known]
    lines, sums = equations(networks, names, known)
    wanted = np.array([priors.get(name, (OTHER, UNKNOWN))[0] for name in names])
    strength = np.array([priors.get(name, (OTHER, UNKNOWN))[1] for name in names])
    scale = (np.abs(lines).mean(axis=0) + 1e-12) * np.sqrt(strength * len(sums) * STRENGTH)
    weights = np.ones(len(sums))
    found: Array = wanted
    optimize: Any = import_module("scipy.optimize")
    for _ in range(ROUNDS):
        matrix = np.vstack([lines * weights[:, None], np.diag(scale)])
        right = np.concatenate([sums * weights, scale * wanted])
        found = optimize.lsq_linear(matrix, right, (0, np.inf)).x
        errors = np.abs(lines @ found - sums)
        weights = np.sqrt(LINEAR_FROM / np.maximum(errors, LINEAR_FROM))
    return known | {name: round(float(cost), 3) for name, cost in zip(names, found, strict=True)}


def table_text(target: str, costs: Mapping[str, float], count: int) -> str:
    """The TOML file of a core."""
    compiler, flags = compiler_of(target)
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    core = CORES[target]
    lines = [
        f"# Instructions on {target}. Written by `python bench/instructions.py --fit {target}`:",
        "# fitted to what the layers of random networks take on the emulated core (QEMU's icount).",
        f'compiler = "{Path(compiler).name} {version.stdout.strip()} {LEVEL} {" ".join(flags)}"',
        f'networks = "{count} of tests/helpers/instructions/networks.py, int8 and float, random"',
        f"other = {OTHER} # an event that none of these networks has",
        "",
        "[core]",
        f"integer_registers = {core.integer_registers}",
        f"float_registers = {core.float_registers}",
        f"ordered_registers = {core.ordered_registers} # for floats, where loads keep their order",
        f"integer_offsets = {core.offsets[0]} # bytes that the offsets of a pointer span",
        f"float_offsets = {core.offsets[1]}",
        f"steps = {core.steps} # the most bytes by which a load moves its pointer",
        f'early = "{core.early}" # what moves to the front of straight-line code',
        "",
        "[costs]",
        *(f'"{name}" = {cost}' for name, cost in sorted(costs.items())),
    ]
    return "\n".join(lines) + "\n"


def fit(target: str) -> None:
    """Measure the random networks, fit, and write the table."""
    # Stages repeat the kernels of packed words, which a core without FPU has not.
    seeds = SEEDS if CORES[target].float_registers else range(CHAINS)
    networks = [one for _, one in samples([str(seed) for seed in seeds], tuple(FORMS), target)]
    costs = fitted(networks, CORES[target])
    text = table_text(target, costs, len(networks))
    (TABLES / f"{target}.toml").write_text(text, encoding="utf-8")
    table = Costs(CORES[target], costs, OTHER)
    errors = [abs(error_of(layer, table)) for one in networks for layer in one.large_layers]
    print(f"{target}: {len(networks)} networks, mean error of their layers {np.mean(errors):.1%}")


def main() -> int:
    """Compare, or fit; the exit code is 1 if a prediction is outside of the limits."""
    parser = argparse.ArgumentParser(description="predicted and measured instructions")
    parser.add_argument("networks", nargs="*", default=list(UNSEEN), metavar="NETWORK")
    parser.add_argument("--target", action="append", choices=tuple(CORES))
    parser.add_argument("--form", action="append", choices=tuple(FORMS))
    parser.add_argument("--worst", type=int, help="print only so many layers")
    parser.add_argument("--fit", choices=tuple(CORES), help="fit the costs of a core")
    chosen = parser.parse_args()
    if chosen.fit:
        fit(chosen.fit)
        return 0
    targets, forms = chosen.target or ["cortex-m4", "fe310"], chosen.form or list(FORMS)
    good = [compare(each, forms, chosen.networks, chosen.worst) for each in targets]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(guarded("bench/instructions.py", main))
