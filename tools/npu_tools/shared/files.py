"""Writes files: all of them or none, and never half a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from npu_tools.shared.errors import UserError


def write_files(
    folder: Path, files: Mapping[str, str | bytes], elsewhere: Mapping[Path, str] | None = None
) -> list[Path]:
    """Write files (name to content) into a folder, which is made if it is missing.

    A name may be a path below the folder. `elsewhere` are files (path to content) in other folders,
    which must exist. Returns the paths that were written.

    Each file is written under a temporary name in its folder; all are renamed at the end. So a
    failure leaves neither half-written files nor only some of the files.

    Raises: UserError if a file cannot be written.
    """
    made: list[Path] = []
    staged: list[tuple[str, Path]] = []
    try:
        made = make_folders(folder)
        for name, content in files.items():
            place = folder / name
            made += make_folders(place.parent)
            staged.append((stage(place.parent, content), place))
        for path, content in (elsewhere or {}).items():
            place = replaceable(path)
            staged.append((stage(place.parent, content), place))
        for _, path in staged:
            if path.is_dir():
                raise IsADirectoryError(21, "Is a directory", str(path))
        for temporary, path in staged:
            os.replace(temporary, path)
    except BaseException as error:  # an interrupt leaves nothing behind either
        for temporary, _ in staged:
            with suppress(OSError):
                os.unlink(temporary)
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir()
        if not isinstance(error, OSError):
            raise
        raise UserError(f"cannot write into {folder}: {error.strerror}") from None
    return [path for _, path in staged]


def replaceable(path: Path) -> Path:
    """The file behind a path, with a symbolic link resolved.

    Raises: UserError if its folder does not exist, or if it is a device, a pipe or a folder, which
    must not be replaced.
    """
    place = path.resolve() if path.is_symlink() else path
    if not place.parent.is_dir():
        raise UserError(f"cannot write {path}: no such folder")
    if place.exists() and not place.is_file():
        raise UserError(f"cannot write {path}: expected a file")
    return place


def write_file(path: Path, content: str) -> None:
    """Write one file into an existing folder. A device or pipe is written to and not replaced.

    Raises: UserError if the path cannot be written.
    """
    if not path.exists() or path.is_file():
        path = path.resolve()
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path}: no such folder")
        write_files(path.parent, {path.name: content})
        return
    try:
        path.write_text(content)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def make_folders(folder: Path) -> list[Path]:
    """Make a folder and its missing parents; returns the new ones, outermost first.

    Raises: OSError if that is not possible.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(20, "expected a folder, this is a file", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def stage(folder: Path, content: str | bytes) -> str:
    """Write a temporary file with the permissions of a normal new file; returns its path.

    Raises: OSError if that is not possible; then the file is removed.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=".npu-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return name
