"""npu-train: train a network whose feature maps have many zero blocks.

    npu-train --data digits --model resnet18 --width 0.125 --epochs 12 --block 4 --threshold 0.1 \\
        --regularisation 0.1 --out digits
    npu-train --data folder:photos --module net.py:Net --epochs 20 --block 4 --out photos
    npu-compile digits/model.onnx --target exynos-npu --pipeline zero-blocks

writes the folder `digits`: `model.onnx`, `calibration.npz` with some training images for
`npu-compile --calibrate`, `checkpoint.pt` and `log.jsonl` (a line for each epoch).
`npu-train sweep` makes the table of docs/training.md, and `npu-train table` makes it again from the
networks. torch is imported only when it is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from npu_tools.shared.errors import UserError, guarded
from npu_train.options import TOOL, argument_parser, check


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-train; returns the exit code."""

    def body() -> int:
        given = list(sys.argv[1:] if args is None else args)
        if given[:1] in (["sweep"], ["table"]):
            need_torch()
            from npu_train.sweep_command import sweep, table

            return (sweep if given[0] == "sweep" else table)(given[1:])
        options = argument_parser().parse_args(given)
        check(options)
        need_torch()
        from npu_train.running import run

        return run(options)

    return guarded(TOOL, body)


def need_torch() -> None:
    """Check that torch and onnxscript are installed, before the work begins.

    Raises: UserError that says what to install.
    """
    for package in ("torch", "onnxscript"):
        if find_spec(package) is None:
            raise UserError(f"{TOOL} needs {package}: pip install 'npu-dialect[train]'")


if __name__ == "__main__":
    sys.exit(main())
