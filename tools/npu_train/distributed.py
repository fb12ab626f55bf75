"""Training in several processes, which `torchrun` starts; without it there is one process.

    npu-train ...                              one process
    torchrun --nproc-per-node 4 -m npu_train.main ...      four, on one machine

Each process has a copy of the network and gets a share of the images. Gradients are averaged at
each step (DistributedDataParallel). Only process 0 writes files and prints.
"""

from __future__ import annotations

import copy
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

ATTEMPT = "TORCHELASTIC_RESTART_COUNT"
"""The environment variable in which torchrun counts its restarts."""


@dataclass(frozen=True)
class Worker:
    """This process: its number `rank` among `processes`, and the device that it computes on.

    `synchronised`: whether batch norms see the images of all processes together, in training.
    """

    rank: int = 0
    processes: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    synchronised: bool = False

    @property
    def first(self) -> bool:
        """Whether this is process 0, which writes files and prints."""
        return self.rank == 0

    def spread(self, model: nn.Module) -> nn.Module:
        """The network with gradients averaged over all processes; itself if there is only one."""
        if self.processes == 1:
            return model
        if self.synchronised:
            model = synchronised(model)
        devices = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=devices)

    def total(self, values: Tensor) -> Tensor:
        """The sum of `values` over all processes; every process gets it."""
        if self.processes > 1:
            group.all_reduce(values)
        return values

    def share(self, batch: int) -> int:
        """How many images of a batch each process gets.

        Raises: UserError if the batch cannot be divided equally.
        """
        if batch % self.processes:
            raise UserError(f"--batch {batch}: expected a multiple of {self.processes} processes")
        return batch // self.processes


def synchronised(model: nn.Module) -> nn.Module:
    """A copy of a network whose batch norms see the images of all processes together.

    Both have the same tensors, so what the copy learns, the network has learnt.
    """
    tensors = [*model.parameters(), *model.buffers()]
    twin = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    norms: Any = nn.SyncBatchNorm  # its types are incomplete
    return norms.convert_sync_batchnorm(twin)


@contextmanager
def joined() -> Generator[Worker]:
    """Join the process group that torchrun has started, with gloo on processors, nccl on GPUs.

    Networks from `Place.spread` must be deleted before the end of the context. Otherwise gloo's
    threads still run when the interpreter exits, and abort the process.
    """
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if processes == 1:
        yield Worker(device=device)
        return
    # The default arguments of this module's functions hold the process group that exists at its
    # import, for ever. So import it while there is none, before DistributedDataParallel does.
    importlib.import_module("torch.distributed.nn.functional")
    store, rank, _ = next(group.rendezvous("env://"))
    # torchrun keeps the store when it starts killed processes again, and with it their addresses.
    store = group.PrefixStore(f"attempt {os.environ.get(ATTEMPT, '0')}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    group.init_process_group(backend, store=store, rank=rank, world_size=processes)
    try:
        yield Worker(group.get_rank(), processes, device)
    finally:
        gc.collect()  # a DistributedDataParallel is in reference cycles
        group.destroy_process_group()
