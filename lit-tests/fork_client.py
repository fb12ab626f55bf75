"""What a launcher of fork_server.py runs: `fork_client.py SOCKET TOOL ARGUMENT ...`.

It imports little, as starting it is all it costs.
"""

import json
import os
import socket
import sys


def main() -> int:
    """Hand everything to the server; gives the exit code of the tool."""
    path, *arguments = sys.argv[1:]
    request = {
        "tool": arguments[0],
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    data = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [len(data).to_bytes(4, "little")], [0, 1, 2])
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
