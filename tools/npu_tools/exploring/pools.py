"""Where points are computed: by Dask, on this machine or on others, or in this process."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from npu_tools.exploring.evaluating import Outcome, Stranger, evaluate, failed
from npu_tools.exploring.packages import Client, package
from npu_tools.exploring.points import Point, compiler
from npu_tools.shared.errors import UserError

T = TypeVar("T")
Future: TypeAlias = Any
"""A `distributed.Future`."""
Bundle: TypeAlias = tuple[Point, ...]
Evaluate: TypeAlias = Callable[[Sequence[Point], str], list[Outcome]]

DASK = "distributed"
RETRIES = 2
"""How often a point is tried again that fails for other reasons than its own."""
SECONDS = 10
"""For how long to wait for a scheduler."""
AT_ONCE = 2
"""How many bundles each thread of the workers gets: one to compute and one that waits."""
REFRESH = 5.0
"""After how many seconds the workers are counted again."""


class Pool(Protocol):
    """Computes bundles of points, in any order."""

    @property
    def threads(self) -> int:
        """How many bundles it computes at the same time."""
        ...

    def has_room(self) -> bool:
        """Whether another bundle would be computed soon."""
        ...

    def submit(self, bundle: Bundle) -> None:
        """Start to compute a bundle."""
        ...

    def finished(self) -> list[Outcome]:
        """Wait for a bundle; returns its outcomes. There must be one that was not returned yet."""
        ...


@dataclass
class Here:
    """Computes in this process."""

    work: Evaluate = evaluate
    waiting: deque[Bundle] = field(default_factory=deque[Bundle])
    threads: int = 1

    def has_room(self) -> bool:
        """Whether nothing waits."""
        return not self.waiting

    def submit(self, bundle: Bundle) -> None:
        """Keep a bundle."""
        self.waiting.append(bundle)

    def finished(self) -> list[Outcome]:
        """Compute a bundle."""
        return self.work(self.waiting.popleft(), compiler())


class OnDask:
    """Computes on the workers of a Dask client. `work` is called there.

    Dask runs a bundle again if its worker dies. If that happens again and again, the points of the
    bundle are tried one by one, and the one that ends workers becomes a row that says so.
    """

    def __init__(self, client: Client, work: Evaluate = evaluate) -> None:
        self.client, self.work = client, work
        self.running: dict[Future, Bundle] = {}
        self.done = package(DASK).as_completed(loop=client.loop)
        self.number, self.counted, self.submitted = 0, float("-inf"), 0

    @property
    def threads(self) -> int:
        """The threads of all workers."""
        now = time.monotonic()
        if now - self.counted > REFRESH:
            counts: dict[str, int] = asked(self.client.nthreads)
            self.number, self.counted = sum(counts.values()), now
        return max(1, self.number)

    def has_room(self) -> bool:
        """Whether the workers have few bundles."""
        return len(self.running) < AT_ONCE * self.threads

    def submit(self, bundle: Bundle) -> None:
        """Send a bundle to the scheduler."""
        self.submitted += 1
        future: Future = asked(
            lambda: self.client.submit(
                self.work,
                bundle,
                compiler(),
                key=f"npu-explore-{bundle[0].key}-{self.submitted}",
                retries=RETRIES,
                pure=False,
            )
        )
        self.running[future] = bundle
        self.done.add(future)

    def finished(self) -> list[Outcome]:
        """Wait for a bundle.

        Raises: UserError if the scheduler is gone, or if no worker can compute the model.
        """
        future: Future = asked(lambda: next(self.done))
        bundle = self.running.pop(future)
        try:
            outcomes: list[Outcome] = asked(future.result)
        except package(DASK).KilledWorker:
            if len(bundle) > 1:
                for point in bundle:
                    self.submit((point,))
                return []
            died = "every worker that computed it has died; it may need more memory than they have"
            outcomes = [Outcome(point.key, failed(died)) for point in bundle]
        except Stranger as error:
            raise UserError(f"--scheduler: {error}") from None
        return outcomes


def asked(question: Callable[[], T]) -> T:
    """The answer of a client to a question.

    Raises: UserError if its scheduler is gone; what the question raises otherwise.
    """
    cancelled = package("distributed.client").FutureCancelledError
    try:
        return question()
    except (OSError, TimeoutError, cancelled, StopIteration) as error:
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise UserError(f"lost the scheduler of Dask: {why}") from None


@contextmanager
def pool_of(scheduler: str | None, jobs: int | None, work: Evaluate = evaluate) -> Generator[Pool]:
    """A pool on a scheduler, or on `jobs` processes of this machine; 0 for this process alone.

    Raises: UserError if the scheduler cannot be reached.
    """
    if scheduler is None and jobs == 0:
        yield Here(work)
        return
    with connected(scheduler, jobs) as client:
        yield OnDask(client, work)


@contextmanager
def connected(scheduler: str | None, jobs: int | None) -> Generator[Client]:
    """A client of a scheduler, or of a new one with `jobs` processes (None: as many as cores).

    Raises: UserError if the scheduler cannot be reached.
    """
    dask = package(DASK)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if scheduler is not None:
        try:
            client = dask.Client(scheduler, timeout=SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError, ImportError) as error:
            why = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise UserError(
                f"--scheduler {scheduler}: cannot reach it in {SECONDS} seconds: {why}"
            ) from None
        with client:
            yield client
        return
    with (
        dask.LocalCluster(
            n_workers=jobs or len(os.sched_getaffinity(0)),
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
    ):
        client.run(leave_at_once)
        yield client


def leave_at_once() -> None:
    """Let this process end without freeing its objects one by one, which takes seconds."""
    atexit.register(os._exit, 0)
