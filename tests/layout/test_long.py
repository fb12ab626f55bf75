"""tests/long.txt and tests/slow.txt name tests that are there."""

import re

import pytest

from helpers.paths import ROOT


@pytest.mark.parametrize("file_of_names", ["long.txt", "slow.txt"])
def test_names_are_those_of_tests(file_of_names: str) -> None:
    names = (ROOT / "tests" / file_of_names).read_text(encoding="utf-8").splitlines()
    found = [name for name in names if not name.startswith("# ")]
    assert len(found) == len(set(found))
    assert found == sorted(found)
    for name in found:
        file, _, test = name.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {re.escape(test.partition('[')[0])}\(", text, re.MULTILINE), name
