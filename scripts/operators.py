"""Writes `docs/operators.md` from the importer's rules and from the tests of the onnx package.

    python scripts/operators.py           write the page
    python scripts/operators.py --check   fail if the page differs from what would be written

Every test of the package is imported, but none is run: `tests/onnx_suites/` does that.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
from onnx import defs
from reference_text import page, sentence, table

from npu_tools.importers.onnx.old_opsets import OLDEST_READ
from npu_tools.importers.onnx.rules import FOREIGN, RULES
from npu_tools.importers.onnx.rules.quantized import MOVING, ON_INTEGERS
from npu_tools.universe import PASSES

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.onnx_suites.cases import NODE, SUITES, cases
from helpers.onnx_suites.known import NOT_RIGHT
from helpers.onnx_suites.verdicts import Verdict, judge, kind_of

FILE = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
FUSING = ("npu-fold-", "npu-fuse-")
"""How the names of passes start that make one layer of several."""

INTRODUCTION = f"""\
This page says which ONNX operators `npu-compile` takes, in which opsets and elements, and what the
tests of the onnx package say about them. `make reference` writes it from the importer's rules and
from these tests, in the version onnx {onnx.__version__}. Between constants, more operators are
computed while importing. If with a constant condition becomes one of its branches."""

NOT_NUMBERS = """\
NaN goes through max pools as through activations: a maximum or a minimum of numbers with a NaN is
NaN, in the interpreter and in the C of every pipeline. So is the result of Relu, Clip or LeakyRelu
of NaN. QuantizeLinear makes the least integer of it. Infinities are numbers as IEEE 754 has them,
and a max pool starts at minus infinity. onnxruntime agrees on activations; its MaxPool keeps NaN
in some windows and drops it in others."""

MEASURE = """\
For each test the importer reads the model, and the C is built for this computer, run on the test's
inputs, and compared with the test's outputs in the tolerance of the suite. NaN and infinities must
be in the same places. `python -m pytest -m "" tests/onnx_suites` repeats this.

Some operators need parameters such as shapes, weights and scales as constants, where a test gives
all of them as inputs. So a test whose model is refused is tried a second time. Then all inputs
but the first are initialisers with the test's data, and the first as well if it is a list of 64-bit
integers. The tests that were right only then are counted as *with constants*; *folded* are those
of them that had no input left, so that the importer computed them."""


def rule_text(rule: Callable[..., Any], name: str) -> str:
    """What the docstring of a rule says beside the name of the operator and its exceptions."""
    text = inspect.cleandoc(rule.__doc__ or "").partition("Raises:")[0]
    text = re.sub(rf"^{name}(?:[.:;,]\s*|\s+(?=\w))", "", " ".join(text.split()))
    return text.strip()


def versions(name: str) -> str:
    """The opsets that defined an operator as the importer reads it."""
    found = {
        schema.since_version
        for schema in defs.get_all_schemas_with_history()
        if schema.name == name and schema.domain == ""
    }
    old = [version for version in found if version <= OLDEST_READ]
    return ", ".join(map(str, sorted(found - set(old[:-1]) if old else found)))


def elements(name: str, right: Iterable[Verdict]) -> str:
    """The elements on which an operator works: those of the right tests, and quantised ones."""
    kinds = {str(next(iter(each.case.inputs.values())).dtype) for each in right if each.case.inputs}
    quantised = ["quantised"] if name in ON_INTEGERS or name in MOVING else []
    return ", ".join([*sorted(kinds), *quantised])


def constants(right: Sequence[Verdict]) -> str:
    """The names, in ONNX's definition, of the inputs that tests were right with as constants."""
    found: dict[str, None] = {}
    for each in right:
        (node,) = each.case.model.graph.node
        formal = defs.get_schema(node.op_type, each.opset, node.domain).inputs
        weights = {tensor.name for tensor in each.case.model.graph.initializer}
        for index, name in enumerate(node.input):
            if name in weights:
                found[formal[min(index, len(formal) - 1)].name] = None
    return ", ".join(found)


def operator_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """A row for each of ONNX's operators that has a rule."""
    tests: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        if len(each.case.model.graph.node) == 1 and not each.case.name.endswith("_expanded"):
            tests[each.case.operator].append(each)
    rows: list[tuple[str, ...]] = []
    for name in sorted(RULES):
        right = [each for each in tests[name] if is_right(each)]
        layers = Counter(layer for each in right for layer in each.layers)
        rows.append(
            (
                name,
                versions(name),
                elements(name, right),
                rule_text(RULES[name], name),
                constants([each for each in right if each.with_parameters]),
                ", ".join(f"`{layer}`" for layer, _ in layers.most_common()),
                f"{len(right)} of {len(tests[name])}" if tests[name] else "",
            )
        )
    return rows


def is_right(verdict: Verdict) -> bool:
    """Whether a test is taken, and its C is right."""
    return verdict.module is not None and verdict.case.name not in NOT_RIGHT


def suite_row(suite: str, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """The row of a suite: how many tests are right, refused, and wrong or crashed."""
    right = [each for each in verdicts if is_right(each)]
    given = [each for each in right if each.with_parameters]
    folded = [each for each in right if not each.case.inputs]
    refused = [each for each in verdicts if each.module is None]
    rest = [NOT_RIGHT[each.case.name] for each in verdicts if each.case.name in NOT_RIGHT]
    late = sum(known.result.startswith("refused") for known in rest)
    counts = (
        len(verdicts),
        len(right),
        len([each for each in given if each.case.inputs]),
        len(folded),
        len(refused) + late,
        len(rest) - late,
    )
    return (suite, *map(str, counts))


def refusals(verdicts: Sequence[Verdict]) -> str:
    """The table of the refused tests of a suite, by reason, the most frequent first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for each in verdicts:
        name = each.case.name
        known = NOT_RIGHT.get(name)
        if each.module is None or (known is not None and known.result.startswith("refused")):
            reason = kind_of(each.reason) or (known.result if known else "")
            groups[reason].append(name.removeprefix("test_").removeprefix("operator_"))
    rows = [
        (reason, str(len(names)), " ".join(f"`{name}`" for name in names))
        for reason, names in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))
    ]
    return table(("reason", "tests", "names"), rows)


def not_right() -> list[str]:
    """The part on the tests that are taken but not right; none if there are none."""
    rows = [(f"`{name}`", *known) for name, known in sorted(NOT_RIGHT.items())]
    heads = ("test", "result", "cause")
    return ["## Tests that are not right", table(heads, rows)] if rows else []


def fusion_rows() -> list[tuple[str, str]]:
    """A row for each pass that makes one layer of several: its name and its summary."""
    names = [name for name in sorted(PASSES) if name.startswith(FUSING)]
    rows: list[tuple[str, str]] = []
    for name in names:
        text = inspect.cleandoc(import_module(PASSES[name].partition(":")[0]).__doc__ or "")
        line = text.partition("\n")[0]
        link = f"[`{name}`](reference/passes.md#{name})"
        rows.append((link, sentence(line.partition("`: ")[2] or line)))
    return rows


def foreign_rows() -> list[tuple[str, str, str]]:
    """A row for each operator of another domain that has a rule."""
    return [
        (domain, name, rule_text(rule, name))
        for domain, rules in FOREIGN.items()
        for name, rule in sorted(rules.items())
    ]


def text(judged: Mapping[str, Sequence[Verdict]]) -> str:
    """The page, from the verdicts on the tests of each suite."""
    heads = ("operator", "opsets", "elements", "forms and limits", "constants", "layers", "tests")
    counted = ("suite", "tests", "right", "with constants", "folded", "refused", "wrong or crashed")
    return page(
        "Operators",
        INTRODUCTION,
        "## ONNX's operators",
        f"*Opsets* are those that changed the operator, from {OLDEST_READ} on or just before. "
        "*Elements* are those of the tests that are right; *quantised* means int8 and uint8 "
        "between DequantizeLinear and QuantizeLinear too, as [quantised networks](quantisation.md)"
        " have it. *Constants* are the inputs that those tests had as constants; *layers* are what "
        "the operator becomes in them.",
        table(heads, operator_rows(judged[NODE])),
        "## Operators of other domains",
        table(("domain", "operator", "forms and limits"), foreign_rows()),
        "## NaN and infinities",
        NOT_NUMBERS,
        "## What is fused",
        "These passes make one layer of several.",
        table(("pass", "what it does"), fusion_rows()),
        "## Tests of the onnx package",
        MEASURE,
        table(counted, [suite_row(suite, found) for suite, found in judged.items()]),
        *not_right(),
        *(
            part
            for suite, found in judged.items()
            for part in (f"## Refused tests of {suite}", refusals(found))
        ),
    )


def main() -> int:
    """Write or check the page; returns the exit code."""
    parser = argparse.ArgumentParser(description="write docs/operators.md from the code")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    check: bool = parser.parse_args().check
    made = text({suite: [judge(case) for case in cases(suite)] for suite in SUITES})
    if FILE.exists() and FILE.read_text(encoding="utf-8") == made:
        return 0
    if not check:
        FILE.write_text(made, encoding="utf-8")
    print(f"docs/operators.md: {'stale: run `make reference`' if check else 'written'}")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
