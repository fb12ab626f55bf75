"""One diagnostic for a person, exit code 1, no traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from npu_dialect.target import MachineError

MARKED_OP = re.compile(r"^(?P<op>[^\n]*)\n[ ]*\^\^+-*\n", re.MULTILINE)
"""The line of the op that xDSL's diagnostic underlines in the IR that it attaches as a note."""


class UserError(Exception):
    """What the user gave is wrong: the message names file, node or op, and what would be right."""


def guarded(
    tool: str, body: Callable[[], int], where: Callable[[], str | None] = lambda: None
) -> int:
    """Run the body of a tool and turn what users can cause into one message and exit code 1.

    `where` names the file at work; it is asked when something went wrong.
    """
    try:
        return body()
    except (UserError, MachineError, ArgSpecParseError) as error:
        message = str(error)
    except ParseError as error:
        message = str(error).strip()
    except DiagnosticException as error:
        message = ": ".join(part for part in (where(), describe(error)) if part)
    except BrokenPipeError:  # the reader of our output has gone: nobody is there to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror}"
    print(f"{tool}: error: {message}", file=sys.stderr)
    return 1


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
