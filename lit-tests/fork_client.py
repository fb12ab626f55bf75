"""What a launcher of fork_server.py runs: `fork_client.py SOCKET TOOL ARGUMENT ...`.

Starting it is all it costs, so it imports little: `socket` and `json` would double its time.
"""

import marshal
import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket


def main() -> int:
    """Hand everything to the server; gives the exit code of the tool."""
    path, *arguments = sys.argv[1:]
    request = {
        "tool": arguments[0],
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    data = marshal.dumps(request)
    server = socket(AF_UNIX)
    server.connect(path)
    files = b"".join(file.to_bytes(4, sys.byteorder) for file in range(3))
    server.sendmsg([len(data).to_bytes(4, "little")], [(SOL_SOCKET, SCM_RIGHTS, files)])
    server.sendall(data)
    # A writer whose reader has gone is told so only when all copies of the pipe are closed.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        code = server.recv(1)
    except ConnectionResetError:
        code = b""
    if not code:
        os.abort()  # the tool has died
    return code[0]


if __name__ == "__main__":
    sys.exit(main())
