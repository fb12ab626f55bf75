"""Several processes that train one network, as `torchrun` starts them; without it there is one.

    npu-train ...                              one process
    torchrun --nproc-per-node 4 -m npu_train.main ...      four, on one machine

Every process has a share of the images and all of the network; gradients are averaged at each step
(DistributedDataParallel). Process 0 writes and says everything.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from npu_tools.shared.errors import UserError

group: Any = torch.distributed  # its types are incomplete


@dataclass(frozen=True)
class Worker:
    """Which of the processes this is, and what it computes on."""

    rank: int = 0
    processes: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process writes files and talks."""
        return self.rank == 0

    def spread(self, model: nn.Module) -> nn.Module:
        """A network whose gradients are those of all processes; itself if there is one process."""
        if self.processes == 1:
            return model
        devices = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=devices)

    def total(self, values: Tensor) -> Tensor:
        """The sum of what all processes have, in all of them."""
        if self.processes > 1:
            group.all_reduce(values)
        return values

    def share(self, batch: int) -> int:
        """The images of a batch that are for one process. Raises: UserError for a fraction."""
        if batch % self.processes:
            raise UserError(f"--batch {batch}: expected a multiple of {self.processes} processes")
        return batch // self.processes


@contextmanager
def joined() -> Generator[Worker]:
    """Take part in what torchrun has started; gloo on processors, nccl on GPUs.

    Networks that were spread must be gone by its end: only then do gloo's threads end here, rather
    than in an interpreter that is ending itself, where they abort the process.
    """
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if processes == 1:
        yield Worker(device=device)
        return
    # Defaults of its functions are the group that there is at its import, and keep it for ever:
    # import it while there is none, before DistributedDataParallel does.
    importlib.import_module("torch.distributed.nn.functional")
    group.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Worker(group.get_rank(), processes, device)
    finally:
        gc.collect()  # a DistributedDataParallel is in reference cycles
        group.destroy_process_group()
