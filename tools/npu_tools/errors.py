"""One diagnostic for a person, exit code 1, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from xdsl.utils.exceptions import DiagnosticException, ParseError


class UserError(Exception):
    """Something is wrong with what the user gave: file, node or op, what is wrong, what would be right."""


def guarded(tool: str, body: Callable[[], int]) -> int:
    """Run the body of a tool and turn what users can cause into one message and exit code 1."""
    try:
        return body()
    except (UserError, DiagnosticException, ParseError) as error:
        print(f"{tool}: error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{tool}: error: {error.filename or 'file'}: {error.strerror}", file=sys.stderr)
    return 1
