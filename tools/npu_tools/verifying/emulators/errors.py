"""The errors of building and running a network on an emulated board."""

from __future__ import annotations

from npu_tools.shared.errors import UserError


class EmulatorError(UserError):
    """The program did not run to its end on the emulated board, or printed something unexpected."""


class EmulatorMissing(EmulatorError):
    """A compiler or an emulator is not installed; the message names the Debian package."""


class BuildError(EmulatorError):
    """The compiler or linker failed, for example because the program does not fit into the RAM."""
