"""The command-line tools, one file for each command.

No command multiplies large matrices with numpy. Its OpenBLAS starts a thread for each core when it
is imported, which costs a command 0.1 seconds of processor time. One thread is enough, unless the
user says otherwise.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
