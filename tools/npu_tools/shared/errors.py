"""Turns exceptions into one message for the user and exit code 1, without a traceback."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from npu_dialect.machine_values import MachineError
from npu_tools.shared.text import printable

MARKED_OP = re.compile(r"^(?P<op>[^\n]*)\n[ ]*\^\^+-*\n", re.MULTILINE)
"""The line of the op that xDSL's diagnostic underlines in the IR that it attaches as a note."""


TRACEBACK = "NPU_TRACEBACK"
"""The environment variable that shows the traceback of an unexpected exception, if it is set."""

TEXT = "\n\t"
"""The control characters that messages may have."""

LONGEST_CONTEXT = 200
"""Most characters of an input line that a message quotes."""
LONGEST_LINE = 1000
"""Most characters of a line of a message; the middle of longer lines is left out."""


class UserError(Exception):
    """A user's mistake. The message names the file and the node or op, and what is expected."""


def guarded(
    tool: str, body: Callable[[], int], where: Callable[[], str | None] = lambda: None
) -> int:
    """Run the body of a tool; turn its exceptions into one message and an exit code.

    `where` returns the name of the input file, or None; it is called if an exception occurs.
    """
    from npu_passes.support.safe_text import mend_lexer  # loads xDSL's parser

    open_standard_streams()
    mend_lexer()
    try:
        return body()
    except (UserError, MachineError, ArgSpecParseError) as error:
        message = str(error)
    except ParseError as error:
        message = parse_message(error)
    except DiagnosticException as error:
        message = ": ".join(part for part in (where(), describe(error)) if part)
    except BrokenPipeError:  # the reader of the output is gone, so a message would not be read
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or error}"
    except KeyboardInterrupt:
        print(f"{tool}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:  # a bug in a pass, a target or another package
        if os.environ.get(TRACEBACK):
            raise
        message = ": ".join(part for part in (where(), unforeseen(error)) if part)
    print(f"{tool}: error: {printable(clipped(message), kept=TEXT)}", file=sys.stderr)
    return 1


def diagnostic_of(error: Exception) -> str:
    """The message of an exception, without the name of a tool or of an input file."""
    if isinstance(error, UserError | MachineError | ArgSpecParseError):
        return str(error)
    if isinstance(error, ParseError):
        return parse_message(error)
    return describe(error) if isinstance(error, DiagnosticException) else unforeseen(error)


def parse_message(error: ParseError) -> str:
    """The message of a parse error; it quotes the wrong line unless that is too long."""
    text = str(error).strip()
    if max(map(len, text.splitlines())) <= LONGEST_CONTEXT:
        return text
    return f"{error.span.get_location()}: {error.msg}"


def clipped(message: str) -> str:
    """A message with the middle of long lines cut out: it may quote a million characters."""
    return "\n".join(
        f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}"
        if len(line) > LONGEST_LINE
        else line
        for line in message.split("\n")
    )


def open_standard_streams() -> None:
    """Replace closed standard input and output (`<&-`), for which Python has None, by /dev/null."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")


def unforeseen(error: Exception) -> str:
    """An unexpected exception in one line: its type, the first line of its text, its place."""
    if isinstance(error, RecursionError):
        from npu_passes.support.safe_text import TOO_DEEP

        return TOO_DEEP
    text = next(iter(str(error).strip().splitlines()), "")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"
    name = ": ".join(part for part in (type(error).__name__, text) if part)
    return f"{name} ({place}; {TRACEBACK}=1 shows the way there)"


def describe(error: DiagnosticException) -> str:
    """The message of a diagnostic. If xDSL marked an op, its name and layer come first."""
    notes: list[str] = getattr(error, "__notes__", [])
    marked = next((found for note in notes if (found := MARKED_OP.search(note))), None)
    if marked is None:
        return str(error)
    line = marked["op"]
    name = re.search(r'"([\w$.-]+)"\(', line)
    layer = re.search(r'npu\.layer = ("[^"]*")', line) or re.search(r'sym_name = "([^"]*)"', line)
    parts = [found[1] for found in (name, layer) if found is not None]
    return f"{' '.join(parts)}: {error}" if parts else str(error)
