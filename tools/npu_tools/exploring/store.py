"""The store of a sweep: a folder of Parquet files, one row a point.

    sweep/part-00000.parquet  part-00001.parquet  ...

A file is written under another name and then renamed, so that it is whole or not there, whatever
ends the process. No key is in two files. pandas, DuckDB and the like read `sweep/*.parquet`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from npu_tools.exploring.columns import COLUMNS, FORMAT, NUMBER, REAL, TEXT, Row
from npu_tools.exploring.packages import Frame, package
from npu_tools.shared.errors import UserError

FORMAT_KEY = b"npu-explore"
PART = "part-*.parquet"
LOCK = ".npu-explore.lock"
OFTEN, SHARE = 2.0, 0.02
"""Rows are written after so many seconds, or after that share of the time of the sweep."""


def schema() -> Any:
    """The columns, with the version of their format."""
    pa = package("pyarrow")
    types = {TEXT: pa.string(), NUMBER: pa.int64(), REAL: pa.float64()}
    columns = [(name, types.get(kind, pa.bool_())) for name, kind in COLUMNS.items()]
    return pa.schema(columns, metadata={FORMAT_KEY: str(FORMAT).encode()})


class Store:
    """The rows in a folder. Only one process at a time may write into it."""

    def __init__(self, folder: Path) -> None:
        """Open a store, which is made if it is missing, and read its keys.

        Raises: UserError if it is no store of this format, if it cannot be read or written, or if
        another process has it open.
        """
        self.folder = folder
        self.waiting: list[Row] = []
        self.opened = self.written = time.monotonic()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            raise UserError(f"--store {folder}: cannot write into it: {error.strerror}") from None
        try:
            self.take()
            self.keys = set(self.column("key"))
        except BaseException:
            os.close(self.lock)
            raise

    def take(self) -> None:
        """Keep other processes away, until this one closes the store or ends.

        Raises: UserError if another process has the store.
        """
        if find_spec("fcntl") is None:  # no such locks on this system
            return
        import fcntl

        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"--store {self.folder}: another process is writing into it") from None

    def parts(self) -> list[Path]:
        """The files with rows."""
        return sorted(self.folder.glob(PART))

    def column(self, name: str) -> list[Any]:
        """The values of a column, in the order of the files.

        Raises: UserError, as `read_part`.
        """
        return [each for part in self.parts() for each in read_part(part, [name])[name].to_pylist()]

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; it is written some seconds later.

        Raises: UserError if rows cannot be written.
        """
        self.waiting.append(dict(row))
        self.keys.add(str(row["key"]))
        now = time.monotonic()
        if now - self.written > max(OFTEN, SHARE * (now - self.opened)):
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait.

        Raises: UserError if that is not possible; then the files are as they were.
        """
        if not self.waiting:
            return
        pa, pq = package("pyarrow"), package("pyarrow.parquet")
        numbers = [int(path.stem.rpartition("-")[2]) for path in self.parts()]
        path = self.folder / f"part-{max(numbers, default=-1) + 1:05}.parquet"
        temporary = self.folder / f".npu-{path.name}"
        try:
            pq.write_table(pa.Table.from_pylist(self.waiting, schema()), temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except (OSError, pa.ArrowException) as error:
            with suppress(OSError):
                temporary.unlink()
            why = getattr(error, "strerror", None) or str(error)
            raise UserError(f"--store {self.folder}: cannot write {path.name}: {why}") from None
        self.waiting, self.written = [], time.monotonic()

    def close(self) -> None:
        """Write what waits, and let other processes write.

        Raises: UserError, as `flush`.
        """
        try:
            self.flush()
        finally:
            os.close(self.lock)

    def rows(self, keys: Collection[str]) -> dict[str, Row]:
        """The rows of some keys, by their keys."""
        pc = package("pyarrow.compute")
        self.flush()
        found: dict[str, Row] = {}
        for part in self.parts():
            table = read_part(part, list(COLUMNS))
            kept = table.filter(pc.field("key").isin(list(keys)))
            found |= {str(row["key"]): row for row in kept.to_pylist()}
        return found

    def frame(self, keys: Iterable[str] | None = None) -> Frame:
        """All rows, or those of some keys, sorted by their keys."""
        pa, pd = package("pyarrow"), package("pandas")
        self.flush()
        tables = [read_part(part, list(COLUMNS)) for part in self.parts()]
        table = pa.concat_tables(tables) if tables else schema().empty_table()
        found = table.to_pandas(types_mapper=pd.ArrowDtype)
        if keys is not None:
            found = found[found["key"].isin(list(keys))]
        return found.sort_values("key", ignore_index=True)


def read_part(path: Path, names: list[str]) -> Any:
    """Columns of a file.

    Raises: UserError if it is no file of a store of this format, or if it cannot be read.
    """
    pa, pq = package("pyarrow"), package("pyarrow.parquet")
    try:
        held = pq.read_schema(path)
        found: bytes | None = held.metadata.get(FORMAT_KEY) if held.metadata else None
        if found is None:
            raise UserError(f"{path}: expected a file of npu-explore, or another --store")
        if found != str(FORMAT).encode():
            raise UserError(
                f"{path}: a store of format {found.decode(errors='replace')}, this npu-explore "
                f"has format {FORMAT}: expected another --store"
            )
        return pq.read_table(path, columns=names)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot read it: {error}") from None
