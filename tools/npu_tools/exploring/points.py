"""The points of a sweep: a model, a machine and options, and a key that stands for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from npu_dialect.machine import Machine
from npu_dialect.memories import Memory
from npu_tools.compiling.driver import Job
from npu_tools.importers.frontends import Loaded, load

OPTIONS = (
    *("pipeline", "overlap", "strategy", "plan_as", "io", "requantize", "flash"),
    *("objective", "weights_in_sram", "stream_input"),
)
"""The fields of a job that a sweep can vary, and that each row has."""

TIME = frozenset(
    (
        *("clock_hz", "macs_per_cycle", "sram_bytes_per_cycle", "dma_bytes_per_cycle"),
        *("dma_setup_cycles", "dma_jump_cycles", "mac_pj", "sram_byte_pj", "dram_byte_pj"),
    )
)
"""The numbers of a machine that say how long things take; few passes ask for them."""

SOURCES = (
    *("npu_dialect", "npu_plans", "npu_passes"),
    *(f"npu_tools.{room}" for room in ("importers", "compiling", "reports", "exploring")),
)
"""The packages that decide what comes out."""


@dataclass(frozen=True)
class Point:
    """One point. `digest` stands for the model's contents; `verified`: whether the C is checked,
    with random inputs of this seed.
    """

    job: Job
    machine: Machine
    digest: str
    verified: int | None = None

    @cached_property
    def key(self) -> str:
        """A text that no other point has."""
        known = [self.digest, machine_numbers(self.machine), self.options, self.verified]
        known += [dict(self.job.input_dims), list(self.job.keep_state), str(self.job.calibrate)]
        return digest_of(json.dumps([*known, compiler()], sort_keys=True, default=str).encode())

    @property
    def options(self) -> dict[str, Any]:
        """The options of the job."""
        return {name: getattr(self.job, name) for name in OPTIONS}

    @cached_property
    def like(self) -> tuple[object, ...]:
        """What points share that may differ in the numbers of time only."""
        return *self.alike, *self.near

    @cached_property
    def near(self) -> tuple[object, ...]:
        """What points share that may differ in the numbers of time and in the options."""
        numbers = machine_numbers(self.machine)
        plain = tuple(sorted((k, str(v)) for k, v in numbers.items() if k not in TIME))
        return self.digest, self.verified, plain

    @cached_property
    def alike(self) -> tuple[object, ...]:
        """What points share that may differ in the machine only."""
        return self.digest, self.verified, tuple(self.options.items())


def machine_numbers(machine: Machine) -> dict[str, Any]:
    """The numbers of a machine that differ from what they are unless a file says so, for JSON."""
    table: dict[str, Any] = {}
    for each in fields(Machine):
        value = getattr(machine, each.name)
        if each.name in ("name", "sram_bytes", "flash_bytes") or value != each.default:
            table[each.name] = plain_of(value)
    return table


def plain_of(value: object) -> Any:
    """A number of a machine as TOML and JSON have it."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        if items and isinstance(items[0], tuple):
            return {name: plain_of(rate) for name, rate in items}
        return [
            {key: plain_of(each) for key, each in item.table().items()}
            if isinstance(item, Memory)
            else item
            for item in items
        ]
    return value


def toml_of(numbers: Mapping[str, Any]) -> str:
    """The TOML file of a machine, of which `machine_numbers` are given."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in numbers.items())


def toml_value(value: Any) -> str:
    """A value in TOML; tables stand in one line."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        inner = ", ".join(f"{key} = {toml_value(each)}" for key, each in table.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, cast('list[Any]', value)))}]"
    return json.dumps(value)


def with_options(job: Job, options: Mapping[str, Any]) -> Job:
    """A job with some of `OPTIONS` changed; one layer at a time is searched for tiles."""
    return replace(job, **options, jobs=1)


def imported(job: Job) -> tuple[Loaded, str]:
    """The network of a job, and a digest of all that it was imported from.

    Raises: UserError if it cannot be imported.
    """
    loaded = load(job.model, job.input_dims, job.functions)
    if loaded.model is None:
        return loaded, digest_of(job.model.read_bytes())
    return loaded, digest_of(loaded.model.SerializeToString(deterministic=True))


def digest_of(data: bytes) -> str:
    """The digest of some bytes, short enough for a file's name."""
    return hashlib.sha256(data).hexdigest()[:32]


@cache
def compiler() -> str:
    """The version of the compiler: that of its package, and a digest of its sources and of xDSL's
    version. So a row of an older compiler is never taken for one of this compiler.
    """
    found = hashlib.sha256()
    for name, data in sources():
        found.update(f"{name} {len(data)} ".encode() + data)
    try:
        number = version("npu-dialect")
    except PackageNotFoundError:  # the sources are used as they lie
        number = "0"
    found.update(version("xdsl").encode())
    return f"{number}+{found.hexdigest()[:12]}"


def sources() -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files that decide what comes out."""
    from importlib.util import find_spec

    for package in SOURCES:
        spec = find_spec(package)
        for folder in [] if spec is None else spec.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.py")):
                yield f"{package}/{path.relative_to(folder)}", path.read_bytes()
