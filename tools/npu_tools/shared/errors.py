"""One diagnostic for a person, exit code 1, no traceback."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from npu_dialect.machine import MachineError
from npu_passes.support.safe_text import TOO_DEEP, mend_lexer

MARKED_OP = re.compile(r"^(?P<op>[^\n]*)\n[ ]*\^\^+-*\n", re.MULTILINE)
"""The line of the op that xDSL's diagnostic underlines in the IR that it attaches as a note."""


TRACEBACK = "NPU_TRACEBACK"
"""Environment variable: where to see the traceback of an exception that nobody foresaw."""

LONGEST_CONTEXT = 200
"""Characters of a line of the input that is shown in a message."""
LONGEST_LINE = 1000
"""Characters of a line of a message; what stands in the middle is left out."""


class UserError(Exception):
    """What the user gave is wrong: the message names file, node or op, and what would be right."""


def guarded(
    tool: str, body: Callable[[], int], where: Callable[[], str | None] = lambda: None
) -> int:
    """Run the body of a tool and turn what users can cause into one message and exit code 1.

    `where` names the file at work; it is asked when something went wrong.
    """
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
    except BrokenPipeError:  # the reader of our output has gone: nobody is there to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or error}"
    except KeyboardInterrupt:
        print(f"{tool}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:  # a mistake in a pass or a target: xDSL's, somebody's, or ours
        if os.environ.get(TRACEBACK):
            raise
        message = ": ".join(part for part in (where(), unforeseen(error)) if part)
    print(f"{tool}: error: {clipped(message)}", file=sys.stderr)
    return 1


def parse_message(error: ParseError) -> str:
    """The message of a parse error: with the line that is wrong, unless that is a long one."""
    text = str(error).strip()
    if max(map(len, text.splitlines())) <= LONGEST_CONTEXT:
        return text
    return f"{error.span.get_location()}: {error.msg}"


def clipped(message: str) -> str:
    """A message whose lines are short: what it quotes may be a million characters long."""
    return "\n".join(
        f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}"
        if len(line) > LONGEST_LINE
        else line
        for line in message.split("\n")
    )


def open_standard_streams() -> None:
    """Replace standard streams that were closed (`<&-`), which Python has as None."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")


def unforeseen(error: Exception) -> str:
    """An exception in one line: its type, the first line of its text, and who raised it."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    text = next(iter(str(error).strip().splitlines()), "")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"
    name = ": ".join(part for part in (type(error).__name__, text) if part)
    return f"{name} ({place}; {TRACEBACK}=1 shows the way there)"


def describe(error: DiagnosticException) -> str:
    """The message of a diagnostic, behind the op it is about (name, layer) if xDSL marked one."""
    notes: list[str] = getattr(error, "__notes__", [])
    marked = next((found for note in notes if (found := MARKED_OP.search(note))), None)
    if marked is None:
        return str(error)
    line = marked["op"]
    name = re.search(r'"([\w$.-]+)"\(', line)
    layer = re.search(r'npu\.layer = ("[^"]*")', line) or re.search(r'sym_name = "([^"]*)"', line)
    parts = [found[1] for found in (name, layer) if found is not None]
    return f"{' '.join(parts)}: {error}" if parts else str(error)
