"""Whether the importer takes the tests of the onnx package, and if not, why."""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from helpers.onnx_suites.cases import Case, with_parameters
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError


@dataclass(frozen=True)
class Verdict:
    """What the importer makes of a test.

    `case` is the test as it was imported: its parameters may have become initialisers. It was
    refused for `reason` if `module` is None.
    """

    case: Case
    module: ModuleOp | None
    reason: str = ""
    with_parameters: bool = False

    @property
    def opset(self) -> int:
        """The opset of the test's model."""
        return next(entry.version for entry in self.case.model.opset_import if not entry.domain)

    @property
    def layers(self) -> list[str]:
        """The names of the layers that the model becomes, without repetitions."""
        names = (op.name for op in self.module.walk()) if self.module else ()
        return list(dict.fromkeys(name for name in names if name.startswith("npu.")))


def judge(case: Case) -> Verdict:
    """Import a test: first as it is; if it is refused, with its parameters as initialisers."""
    with quiet():
        first = imported(case)
        if first.module is not None or not case.inputs:
            return first
        second = imported(with_parameters(case), with_parameters=True)
        return second if second.module is not None or len(case.inputs) > 1 else first


def imported(case: Case, *, with_parameters: bool = False) -> Verdict:
    """Import a test as it is."""
    try:
        data = case.model.SerializeToString()
        module = import_model(data, name="test", base_dir=None)
    except UserError as error:
        return Verdict(case, None, reason_of(str(error)), with_parameters)
    return Verdict(case, module, with_parameters=with_parameters)


@contextmanager
def quiet() -> Generator[None]:
    """Switch the compiler's warnings off."""
    logger = logging.getLogger("npu-dialect")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def reason_of(message: str) -> str:
    """The reason in a message of the importer: its first line, or the first of the nodes it lists.

    The names of the file and of the node are left out; the operator stays.
    """
    lines = message.removeprefix("test: ").splitlines()
    line = lines[1].strip() if lines[0].endswith("nodes cannot be imported:") else lines[0]
    return re.sub(r"^node '.*?' \((\S+)\): ", r"\1: ", line)


def kind_of(reason: str) -> str:
    """A reason without what differs from test to test: names and numbers."""
    text = re.sub(r"'[^']*'", "'...'", reason)
    return re.sub(r"-?\d+(?:, -?\d+)+", "...", text)
