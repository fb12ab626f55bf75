"""Shows progress on a terminal, in one line that is overwritten; elsewhere it shows nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp


class Progress:
    """One line on the terminal of standard error."""

    def __init__(self) -> None:
        """Check whether standard error is a terminal; if not, nothing is shown."""
        self.shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the text of the line."""
        if self.shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass
class PassProgress:
    """Shows which pass of a job is running; `names` are all passes in their order.

    Both methods are observers. `ended` must be the first and `begins` the last of them.
    """

    names: tuple[str, ...]
    line: Progress = field(default_factory=Progress)
    done: int = 0

    def ended(self, step: str, module: ModuleOp) -> None:
        """Clear the line after a step, so that other observers can print."""
        self.line.clear()

    def begins(self, step: str, module: ModuleOp) -> None:
        """Show the name of the pass that runs next."""
        if self.done < len(self.names):
            self.line.say(f"[{self.done + 1}/{len(self.names)}] {self.names[self.done]}")
        self.done += 1
