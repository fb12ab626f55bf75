"""Progress on a terminal: one line that is written over and over; nothing where nobody looks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp


class Progress:
    """One line on a terminal."""

    def __init__(self) -> None:
        """Find out whether somebody looks."""
        self.shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Replace the line."""
        if self.shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass
class PassProgress:
    """Says which pass of a job is running; `names` are the passes in their order."""

    names: tuple[str, ...]
    line: Progress = field(default_factory=Progress)
    done: int = 0

    def ended(self, step: str, module: ModuleOp) -> None:
        """A step has ended: room for what others say of it."""
        self.line.clear()

    def begins(self, step: str, module: ModuleOp) -> None:
        """The next step begins."""
        if self.done < len(self.names):
            self.line.say(f"[{self.done + 1}/{len(self.names)}] {self.names[self.done]}")
        self.done += 1
