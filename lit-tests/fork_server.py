"""Command-line tools that start fast: a server imports them once and forks for each start.

`tools_on_path` makes a folder of launchers, one for each tool, which lit puts before all others on
PATH. A launcher hands its arguments, its folder, its environment, and its standard input and
outputs to the server (fork_client.py). A fork of the server calls what the console script of the
tool calls. Its exit code becomes that of the launcher, and if the fork dies, the launcher dies too.
So RUN lines, pipes, redirections and `not` mean what they always mean.

The server ends when lit ends: its standard input is a pipe that lit holds open.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import select
import shlex
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

TOOLS = ("npu-opt", "npu-compile", "filecheck")
"""The tools that RUN lines start."""
PACKAGES = ("npu_dialect", "npu_passes", "npu_plans", "npu_tools")
"""The packages whose modules are imported before the server forks."""
SOCKET = "socket"
PASSES = "npu-attach-target{target=cortex-m4},npu-lower-to-loops,canonicalize,cse"
FIRST = ("passes/lowering/lower_to_loops/kernels.mlir", "dialects/dma/ops.mlir")
"""Files that the server runs npu-opt on before it forks.

The forks then have what a run keeps for the next: the list of installed passes, which classes are
subclasses of which, and tables of targets. That is half of the time of a small run.
"""


def tools_on_path() -> str:
    """Start a server; gives the folder with a launcher for each tool."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)  # closes its input and waits for it
    assert server.stdout is not None
    folder = server.stdout.readline().strip()
    if not folder:
        raise RuntimeError("the server of the lit tests did not start")
    return folder


def write_launchers(folder: Path) -> None:
    """Write a launcher for each tool, and the number of this process."""
    (folder / "server.pid").write_text(str(os.getpid()), encoding="utf-8")
    client = Path(__file__).with_name("fork_client.py")
    for tool in TOOLS:
        words = (sys.executable, "-I", "-S", str(client), str(folder / SOCKET), tool)
        launcher = folder / tool
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)


def load() -> dict[str, Callable[[], Any]]:
    """Import what the tools need; gives the function that each console script calls."""
    found = entry_points(group="console_scripts")
    tools: dict[str, Callable[[], Any]] = {name: found[name].load() for name in TOOLS}
    for package in map(import_module, PACKAGES):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        for file in FIRST:
            text = str(Path(__file__).parent / file)
            options = ("--split-input-file", "-p", PASSES, "-o", os.devnull)
            sys.argv = ["npu-opt", text, *options]
            exit_code(tools["npu-opt"])  # if this fails, so does the test of the file
    gc.collect()
    gc.freeze()  # forks then copy fewer pages
    return tools


def serve(folder: Path) -> None:
    """Answer launchers until standard input ends."""
    tools = load()
    write_launchers(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET))
        listener.listen(64)
        print(folder, flush=True)
        while sys.stdin not in (ready := select.select([sys.stdin, listener], [], [])[0]):
            if listener in ready:
                reap()
                connection, _ = listener.accept()
                with connection:
                    if os.fork() == 0:
                        listener.close()
                        gc.disable()  # it ends soon
                        answer(connection, tools)


def reap() -> None:
    """Take note of the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def answer(connection: socket.socket, tools: dict[str, Callable[[], Any]]) -> None:
    """Run one tool for a launcher, send its exit code, and end this process."""
    data, files, _, _ = socket.recv_fds(connection, 4, 3)
    length = int.from_bytes(data, "little")
    with connection.makefile("rb") as stream:
        request = marshal.loads(stream.read(length))
    for index, file in enumerate(files):
        os.dup2(file, index)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    code = exit_code(tools[request["tool"]])
    connection.sendall(bytes([code]))
    os._exit(code)


def exit_code(main: Callable[[], Any]) -> int:
    """Run a tool to its end, as Python does with a script that calls `sys.exit(main())`."""
    code: Any = 1
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    code = 0 if code is None else code & 255 if isinstance(code, int) else 1
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads
        return code or 120
    return code


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="lit-") as folder:
        serve(Path(folder))
