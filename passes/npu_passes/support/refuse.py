"""The one way in which passes refuse their input: a message that names the pass that runs.

    refuse(op, "expected an on-chip buffer of static size")
    ->  npu-tile-loops: expected an on-chip buffer of static size

Analyses that several passes share know no pass; `RefusingPass` puts its name in front.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException


class Refusal(PassFailedException):
    """What is wrong with the input of a pass; `is_named`: the message names the pass."""

    is_named: bool = False

    def name(self, name: str) -> None:
        """Put the name of a pass in front of the message, unless there is one."""
        if not self.is_named:
            self.args = (f"{name}: {self}",)
            self.is_named = True


def refuse(op: Operation, message: str, where: str = "") -> NoReturn:
    """Refuse an op; `where` (a function, a file) goes in front of the message.

    Raises: Refusal, attached to the op.
    """
    text = f"{where}: {message}" if where else message
    op.emit_error(text, Refusal(text))


class RefusingPass(ModulePass):
    """A pass whose refusals name it, whoever raises them."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the pass put its name in front of refusals."""
        super().__init_subclass__(**options)
        if "apply" in vars(cls):
            setattr(cls, "apply", named(cls.apply))


Apply = Callable[[Any, Context, ModuleOp], None]


def named(apply: Apply) -> Apply:
    """The same method, with refusals that name its pass."""

    @wraps(apply)
    def run(self: Any, ctx: Context, op: ModuleOp) -> None:
        try:
            apply(self, ctx, op)
        except Refusal as refusal:
            refusal.name(self.name)
            raise

    return run
