"""constraints.txt pins what pyproject.toml asks for."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers.paths import ROOT

FREE = {"torch"}
"""Packages without a pin: which build fits depends on the machine."""


def test_every_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    needed = [Requirement(text) for group in groups for text in group]
    for each in needed:
        if (name := canonicalize_name(each.name)) not in FREE:
            assert name in pins, f"{name}: not in constraints.txt"
            assert each.specifier.contains(pins[name]), f"{name}=={pins[name]}, not {each}"


def test_nothing_is_a_path_or_an_address() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert not re.search(r"@|://|^-", text, re.MULTILINE)
