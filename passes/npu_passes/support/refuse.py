"""How passes reject their input: with a message that names the running pass.

    refuse(op, "expected an on-chip buffer of static size")
    ->  npu-tile-loops: expected an on-chip buffer of static size

Shared analyses do not know which pass calls them; `RefusingPass` adds the name of the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ClassVar, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException


class Refusal(PassFailedException):
    """Says what is wrong with the input of a pass; `is_named`: the message names the pass."""

    is_named: bool = False

    def name(self, name: str) -> None:
        """Put the name of a pass in front of the message, unless it has one already."""
        if not self.is_named:
            self.args = (f"{name}: {self}",)
            self.is_named = True


class DoesNotFit(Refusal):
    """Says that a program needs more on-chip memory than its machine has.

    `needed`: how many bytes it needs at least, None if that is not known.
    """

    def __init__(self, message: str, needed: int | None = None) -> None:
        """Take the message, and how many bytes are needed."""
        super().__init__(message)
        self.needed = needed


MOST = 20
"""The most entries of a list of problems that are shown."""


def listed(problems: Iterable[str]) -> str:
    """The different problems as the lines of a message, each once; empty if there are none."""
    found = list(dict.fromkeys(problems))
    more = [f"... and {len(found) - MOST} more"] if len(found) > MOST else []
    return "".join(f"\n  {line}" for line in (*found[:MOST], *more))


def refuse(op: Operation, message: str, where: str = "") -> NoReturn:
    """Reject an op; `where` (a function, a file) goes in front of the message.

    Raises: Refusal, attached to the op.
    """
    text = f"{where}: {message}" if where else message
    op.emit_error(text, Refusal(text))


def refuse_size(
    op: Operation, message: str, needed: int | None = None, where: str = ""
) -> NoReturn:
    """Reject an op that needs more on-chip memory than there is; see `refuse`.

    Raises: DoesNotFit, attached to the op.
    """
    text = f"{where}: {message}" if where else message
    op.emit_error(text, DoesNotFit(text, needed))


class RefusingPass(ModulePass):
    """A pass whose name stands in front of every `Refusal` that its `apply` raises.

    `ONLY_READS`: the pass only checks the IR, so what was right before it is right behind it.
    """

    ONLY_READS: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap `apply` so that refusals get the name of the pass."""
        super().__init_subclass__(**options)
        if "apply" in vars(cls):
            setattr(cls, "apply", named(cls.apply))


Apply = Callable[[Any, Context, ModuleOp], None]


def named(apply: Apply) -> Apply:
    """`apply`, with the name of its pass put in front of refusals."""

    @wraps(apply)
    def run(self: Any, ctx: Context, op: ModuleOp) -> None:
        try:
            apply(self, ctx, op)
        except Refusal as refusal:
            refusal.name(self.name)
            raise

    return run
