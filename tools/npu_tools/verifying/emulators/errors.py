"""What can go wrong between a compiled network and its outputs on a board."""

from __future__ import annotations

from npu_tools.shared.errors import UserError


class EmulatorError(UserError):
    """The program did not run to its end on the emulated board, or did not say what it should."""


class EmulatorMissing(EmulatorError):
    """A compiler or an emulator is not installed; the message names the Debian package."""


class BuildError(EmulatorError):
    """The compiler or the linker refused the program (such as: it does not fit into the RAM)."""
