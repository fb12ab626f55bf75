"""scripts/toolchains.py installs what the tests look for, or what it can of that."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from helpers.paths import ROOT
from npu_tools.verifying.upstream import PACKAGES, TOOLS

SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "toolchains.py"))


def test_the_tools_of_llvm_are_of_the_version_that_the_tests_use() -> None:
    probes = {tool.probe[0] for tool in SCRIPT["TOOLS"]}
    assert set(PACKAGES.split()) <= {tool.package for tool in SCRIPT["TOOLS"]}
    others = {"mlir-translate-19", "llvm-objcopy-19"}  # in the same packages
    assert set(TOOLS) <= probes | others


@pytest.mark.parametrize(
    ("broken", "wanted", "calls"),
    [
        (set[str](), True, [["install", "a", "b"]]),
        (
            {"a"},
            False,
            [
                ["install", "a", "b"],
                ["update"],
                ["install", "a", "b"],
                ["install", "a"],
                ["install", "b"],
            ],
        ),
    ],
)
def test_a_package_that_is_not_there_keeps_no_other_out(
    broken: set[str], wanted: bool, calls: list[list[str]]
) -> None:
    made: list[list[str]] = []

    def apt(action: str, *packages: str, say: bool = False) -> bool:
        made.append([action, *packages])
        return not broken & set(packages)

    install = SCRIPT["install"]
    install.__globals__["apt"] = apt
    assert install(["a", "b"]) == wanted
    assert made == calls
