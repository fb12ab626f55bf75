"""tests/long.txt names tests that are there."""

import re

from helpers.paths import ROOT

NAMES = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()


def test_names_are_those_of_tests() -> None:
    found = [name for name in NAMES if not name.startswith("# ")]
    assert len(found) == len(set(found))
    assert found == sorted(found)
    for name in found:
        file, _, test = name.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {re.escape(test.partition('[')[0])}\(", text, re.MULTILINE), name
