"""Stores: whole whatever happens, of one format, and written by one process at a time."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npu_tools.exploring.columns import COLUMNS
from npu_tools.exploring.packages import package
from npu_tools.exploring.store import Store
from npu_tools.shared.errors import UserError

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


def row(key: str, **values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "key": key, "status": "ok", **values}


def filled(folder: Path) -> Store:
    store = Store(folder)
    for key in "cab":
        store.add(row(key, arena_bytes=7))
    store.flush()
    return store


def test_rows_come_back_sorted(tmp_path: Path) -> None:
    store = filled(tmp_path / "deep" / "store")
    store.add(row("0", cycles=1))
    store.close()
    store = Store(tmp_path / "deep" / "store")
    assert list(store.frame().key) == ["0", "a", "b", "c"]
    assert store.keys == {"0", "a", "b", "c"}
    assert store.rows(["a"])["a"]["arena_bytes"] == 7
    assert list(store.frame(["b", "0"]).key) == ["0", "b"]
    assert len(store.parts()) == 2
    store.close()


def test_only_one_process_writes(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with pytest.raises(UserError, match="another process is writing into it"):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


def test_other_formats_are_refused(tmp_path: Path) -> None:
    pa, pq = package("pyarrow"), package("pyarrow.parquet")
    filled(tmp_path).close()
    part = tmp_path / "part-00000.parquet"
    table = pq.read_table(part)
    pq.write_table(table.replace_schema_metadata({"npu-explore": "99"}), part)
    before = part.read_bytes()
    with pytest.raises(UserError, match="a store of format 99, this npu-explore has format 1"):
        Store(tmp_path)
    pq.write_table(pa.table({"x": [1]}), part)
    with pytest.raises(UserError, match="expected a file of npu-explore"):
        Store(tmp_path)
    part.write_bytes(before[:50])
    with pytest.raises(UserError, match="cannot read it"):
        Store(tmp_path)
    assert part.read_bytes() == before[:50]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write into it"):
        Store(tmp_path / "file" / "store")


FULL = """
import resource, sys
from pathlib import Path
from npu_tools.exploring.packages import package
from npu_tools.exploring.store import Store
from npu_tools.shared.errors import UserError
sys.path.insert(0, sys.argv[2])
store = Store(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    store.add({"key": "d"})
    store.flush()
except UserError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_store_whole(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = store.frame()
    store.close()
    assert resource.RLIMIT_FSIZE
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), "."],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"--store {tmp_path}: cannot write part-00001.parquet: " in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".npu-explore.lock",
        "part-00000.parquet",
    ]
    store = Store(tmp_path)
    assert store.frame().equals(before)
    store.close()
